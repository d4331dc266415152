package import Foundation

/// An archived value that is not stored yet, for callers that announce a write and must first know that it can be
/// archived.
package struct ArchivedValue {
  fileprivate let value: MemoryValue
  fileprivate let format: ArchiveFormat
  fileprivate let bytes: [UInt8]
}

extension CacheBatch {
  package mutating func set(_ archived: ArchivedValue, forKey key: String) throws(CacheError) {
    try archived.bytes.withBytes { (bytes) throws(CacheError) in
      try CacheKey.with(key) { (key) throws(CacheError) in
        let header = try store.header(for: key, archived.format, bytes, expiresIn: nil, cost: nil)
        try store.put(key, header: header, payload: bytes, through: transforms, into: frames)
      }
    }
  }
}

extension LMDBCache {
  package func archive<V: Codable>(_ value: V) throws(CacheError) -> ArchivedValue {
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      ArchivedValue(
        value: TypedMemoryValue.make(value, archiveLength: bytes.count), format: format, bytes: Array(bytes))
    }
  }

  package func archive(object: any NSCoding) throws(CacheError) -> ArchivedValue {
    try ObjectArchiver.withArchive(of: object, with: diskCache.objectCoding) { (format, bytes) throws(CacheError) in
      ArchivedValue(value: TypedMemoryValue(SharedObject(object: object)), format: format, bytes: Array(bytes))
    }
  }

  package func set(_ archived: ArchivedValue, forKey key: String) throws(CacheError) {
    try archived.bytes.withBytes { (bytes) throws(CacheError) in
      try diskCache.put(
        archived.value, archived.format, bytes, forKey: key, expiresIn: nil, cost: nil, tags: nil, through: memoryCache)
    }
  }
}
