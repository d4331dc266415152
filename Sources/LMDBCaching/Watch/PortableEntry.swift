package import Foundation
package import Logging
import Platform
import Synchronization

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
  /// Archives a value as ``set(_:forKey:expires:cost:tags:)`` does, without storing it.
  package func archive<V: Codable>(
    _ value: V, forKey key: String, expires: Int64, cost: Int?, tags: [String]
  ) throws(CacheError) -> PortableEntry {
    try checkOpen()
    let tags = tags.isEmpty ? nil : try EntryTags.make(tags)
    return try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      // Bytes are their own archive, and need not be copied.
      try entry(
        key, format, bytes, V.self == Data.self ? RawArchiving.cast(value, to: Data.self) : nil, expires, cost, tags,
        TypedMemoryValue.make(value, archiveLength: bytes.count))
    }
  }

  package func archiveObject(
    _ object: any NSCoding, forKey key: String, expires: Int64, cost: Int?
  ) throws(CacheError) -> PortableEntry {
    try checkOpen()
    return try ObjectArchiver.withArchive(of: object, with: objectCoding) {
      (format, bytes) throws(CacheError) in
      try entry(key, format, bytes, nil, expires, cost, nil, TypedMemoryValue(SharedObject(object: object)))
    }
  }

  private func entry(
    _ key: String, _ format: ArchiveFormat, _ bytes: ByteView, _ data: Data?, _ expires: Int64,
    _ cost: Int?, _ tags: EntryTags?, _ value: MemoryValue
  ) throws(CacheError) -> PortableEntry {
    try CacheKey.with(key) { (key) throws(CacheError) in
      var header = try store.header(for: key, format, bytes, expires: expires, cost: cost)
      header.tags = tags?.hashes
      let transforms = reader.transforms
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
        try reader.requireTransforms(header, key)
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
      (try LMDBCache.decode(type, format, bytes, key), bytes.count)
    }
    entry.value = TypedMemoryValue.make(value, archiveLength: count)
    return value
  }

  package func object(of entry: inout PortableEntry) throws(CacheError) -> (any NSCoding)? {
    if entry.header.isExpired(at: store.clock.now) { return nil }
    if let shared = entry.value?.any as? SharedObject { return shared.object }
    let object = try ObjectArchiver.object(
      from: restored(entry), format: entry.header.format, with: objectCoding, forKey: entry.key)
    entry.value = TypedMemoryValue(SharedObject(object: object))
    return object
  }

  private func restored(_ entry: PortableEntry) throws(CacheError) -> Data {
    guard entry.header.flags.contains(.transformed) else { return entry.payload }
    return try CacheKey.with(entry.key) { (key) throws(CacheError) in
      try entry.payload.withBytes { (bytes) throws(CacheError) in
        try reader.transforms.restore(bytes, entry.header, entry.tags, key)
      }
    }
  }
}

// The interface for remote tiers.

extension LMDBCache {
  /// The revision of the local entry under a key, or `nil`. Does not count as an access.
  package func revision(forKey key: String) throws(CacheError) -> LocalRevision? {
    try checkOpen()
    return try CacheKey.with(key) { (key) throws(CacheError) in
      guard let header = try store.header(key)?.header else { return nil }
      return LocalRevision(revision: header.revision, stamp: header.stamp)
    }
  }

  /// When a loaded value expires, in nanoseconds since 1970; 0 for never.
  package func expiry(of context: LoadContext, _ options: LoadOptions?) -> Int64 {
    let options = options ?? configuration.loadOptions
    return context.lifetime.map { store.expiry(after: options.shortened($0)) } ?? 0
  }

  /// A stamp above those of all earlier writes and below those of all later ones.
  package var presentStamp: UInt64 {
    store.journal.lock.withLock {
      max(store.journal.state.stamps.last, store.journal.state.stamps.present(store.clock))
    }
  }

  package func expiry(after duration: Duration) -> Int64 { store.expiry(after: duration) }

  /// The time that decides expiry, in nanoseconds since 1970.
  package var now: Int64 { store.clock.now }

  package var path: String { store.directory }

  package var logger: Logger { configuration.logger }

  package func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
    events.log(level, message, metadata.merging(["directory": "\(store.directory)"]) { own, _ in own })
  }
}

/// The change of a remote tier that a local entry belongs to, and the write that stored it.
package struct LocalRevision: Sendable {
  /// 0 for an entry that belongs to none.
  package let revision: UInt64
  package let stamp: UInt64
}

extension CacheEntry {
  package var stamp: UInt64 { version.stamp }
}

extension LoadContext {
  package mutating func inherit(_ entry: PortableEntry, revision: UInt64) {
    inherited = InheritedEntry(revision: revision, expires: entry.header.expires, tags: entry.tags)
    cost = entry.header.cost
  }
}
