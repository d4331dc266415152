package import Foundation

/// An archived entry that can leave the machine, or that another machine archived and this one can store.
// Sendable: the header is detached and refers to no memory; `value` may be shared between threads, as everything in the
// memory tier may.
package struct PortableEntry: @unchecked Sendable {
  package let key: String
  let header: RecordHeader
  let tags: EntryTags?
  let payload: Data
  var value: MemoryValue?
  var valueSize = 0

  /// Nanoseconds since 1970; 0: never.
  package var expires: Int64 { header.expires }

  /// Approximate size in memory in bytes. A decoded value counts as much as its archive, as in the memory tier.
  package var size: Int { payload.count + valueSize + key.utf8.count + RecordHeader.baseSize }

  /// The form that leaves the machine: the transformed record with its checksum. Its stamp is 0, since stamps order the
  /// writes of one directory.
  package var record: Data {
    CacheKey.with(key) { key in
      payload.withBytes { payload in
        var header = header
        header.tags = tags?.hashes
        return Data(PreparedPut(key, header, payload).record(stamp: 0))
      }
    }
  }
}

extension LMDBCache {
  /// Archives a value as ``set(_:forKey:expiresIn:cost:)`` does, without storing it.
  package func archive<V: Codable>(
    _ value: V, forKey key: String, expires: Int64, cost: Int?, tags: [String]
  ) throws(CacheError) -> PortableEntry {
    try diskCache.checkOpen()
    let tags = tags.isEmpty ? nil : try EntryTags.make(tags)
    return try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      // Bytes are their own archive, and need not be copied.
      try entry(
        key, format, bytes, V.self == Data.self ? unsafeBitCast(value, to: Data.self) : nil, expires, cost, tags,
        TypedMemoryValue.make(value, archiveLength: bytes.count))
    }
  }

  package func archiveObject(
    _ object: any NSCoding, forKey key: String, expires: Int64, cost: Int?
  ) throws(CacheError) -> PortableEntry {
    try diskCache.checkOpen()
    return try ObjectArchiver.withArchive(of: object, with: diskCache.objectCoding) {
      (format, bytes) throws(CacheError) in
      try entry(key, format, bytes, nil, expires, cost, nil, TypedMemoryValue(SharedObject(object: object)))
    }
  }

  private func entry(
    _ key: String, _ format: ArchiveFormat, _ bytes: UnsafeRawBufferPointer, _ data: Data?, _ expires: Int64,
    _ cost: Int?, _ tags: EntryTags?, _ value: MemoryValue
  ) throws(CacheError) -> PortableEntry {
    try CacheKey.with(key) { (key) throws(CacheError) in
      var header = try store.header(for: key, format, bytes, expires: expires, cost: cost)
      header.tags = tags?.hashes
      let transforms = diskCache.reader.transforms
      let transformed = transforms.isEmpty ? nil : try transforms.apply(to: bytes, header, key)
      if transformed != nil { header.flags.insert(.transformed) }
      return PortableEntry(
        key: key.string, header: header.detached, tags: tags, payload: transformed ?? data ?? Data(bytes), value: value,
        valueSize: data != nil && transformed == nil ? 0 : bytes.count)
    }
  }

  package func entry(reading record: Data, forKey key: String) throws(CacheError) -> PortableEntry {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try record.withBytes { (bytes) throws(CacheError) in
        guard let header = RecordHeader(bytes), header.flags.isDisjoint(with: [.pointer, .absence]),
          header.belongs(to: key.utf8, in: bytes), header.isIntact(bytes, key: key.utf8)
        else {
          throw CacheError(
            .corruptedRecord,
            "What the remote tier has under \(quoted(key.string)) is no record of this version, or was damaged.")
        }
        try diskCache.reader.requireTransforms(header, key)
        return PortableEntry(
          key: key.string, header: header.detached, tags: header.tags.map(EntryTags.init(copying:)),
          payload: Data(header.payload(of: bytes)))
      }
    }
  }

  /// The value of another machine's entry; `nil` if it has expired.
  package func value<V: Codable>(_ type: V.Type, of entry: inout PortableEntry) throws(CacheError) -> V? {
    if entry.header.isExpired(at: store.clock.now) { return nil }
    // Two steps: a cast to an optional type would turn a missing value into a value, nil.
    if let found = entry.value, let value = found.any as? V { return value }
    let (format, key) = (entry.header.format, entry.key)
    let (value, count) = try restored(entry).withBytes { (bytes) throws(CacheError) in
      (try DiskCache.decode(type, format, bytes, key), bytes.count)
    }
    entry.value = TypedMemoryValue.make(value, archiveLength: count)
    return value
  }

  package func object(of entry: inout PortableEntry) throws(CacheError) -> (any NSCoding)? {
    if entry.header.isExpired(at: store.clock.now) { return nil }
    if let shared = entry.value?.any as? SharedObject { return shared.object }
    let object = try ObjectArchiver.object(
      from: restored(entry), format: entry.header.format, with: diskCache.objectCoding, forKey: entry.key)
    entry.value = TypedMemoryValue(SharedObject(object: object))
    return object
  }

  private func restored(_ entry: PortableEntry) throws(CacheError) -> Data {
    guard entry.header.flags.contains(.transformed) else { return entry.payload }
    return try CacheKey.with(entry.key) { (key) throws(CacheError) in
      try entry.payload.withBytes { (bytes) throws(CacheError) in
        try diskCache.reader.transforms.restore(bytes, entry.header, entry.tags, key)
      }
    }
  }
}
