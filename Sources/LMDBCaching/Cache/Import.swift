import CBORCoding
package import Foundation
package import FoundationArchives
import Platform

// Importing entries of other stores with their times.

extension LMDBCache {
  /// Stores entries; returns when they survive the death of the process, with ``Durability/full`` when they are on the
  /// disk.
  ///
  /// - Parameters:
  ///   - replacing: Whether to replace existing entries. Otherwise they stay, even if stored during the call.
  /// - Returns: Whether each is stored. Of several with one key the first is, or the last when replacing.
  /// - Throws: as ``LMDBCache/set(_:forKey:expires:cost:tags:)``; some may be stored then.
  package func take(_ entries: [ImportedEntry], replacing: Bool) throws(CacheError) -> [Bool] {
    try takeAll(entries, replacing: replacing)
  }

  /// Stores entries of other caches as they are, with new stamps. Their values are not transformed.
  package func take(_ records: [EntryRecord], replacing: Bool) throws(CacheError) -> [Bool] {
    try takeAll(records, replacing: replacing)
  }

  private func takeAll(_ entries: [some StorableEntry], replacing: Bool) throws(CacheError) -> [Bool] {
    try checkOpen()
    if replacing {
      let batch = BatchFrames(isAwaited: store.durability == .full)
      for entry in entries { try entry.add(to: batch, in: self) }
      try store.write(batch, waitsForCommit: false)
      return entries.map { _ in true }
    }
    if let taken = try takeTogether(entries) { return taken }
    var taken: [Bool] = []
    for entry in entries { taken.append(try take(entry)) }
    return taken
  }

  /// Stores the missing ones as one batch. Returns `nil`, with nothing stored, if other processes have the cache open
  /// or one of the keys was written in the meantime.
  private func takeTogether(_ entries: [some StorableEntry]) throws(CacheError) -> [Bool]? {
    let batch = BatchFrames(isAwaited: store.durability == .full)
    var expected: [(write: ConditionalWrite, position: UInt64)] = []
    defer { for (write, _) in expected.reversed() { store.end(write) } }
    var keys: Set<ByteKey> = []
    var taken: [Bool] = []
    for entry in entries {
      let write = try CacheKey.with(entry.key) { (key) throws(CacheError) in try store.begin(key) }
      guard case .unchanged(_, let position)? = try store.condition(write) else { return nil }
      expected.append((write, position))
      let isThere = try contains(entry.key)
      let isNew = keys.insert(ByteKey(entry.key)).inserted && !isThere
      taken.append(isNew)
      guard isNew else { continue }
      try entry.add(to: batch, in: self)
    }
    let isWritten = try store.write(batch, waitsForCommit: false) { [store] in store.areUnchanged(expected) }
    return isWritten ? taken : nil
  }

  private func take(_ entry: some StorableEntry) throws(CacheError) -> Bool {
    try CacheKey.with(entry.key) { (key) throws(CacheError) in
      try entry.withEdit(of: key, in: self) { (edit) throws(CacheError) in
        var isTaken = false
        try attempting(key) { (write, condition) throws(CacheError) in
          if try isPresent(key) { return true }
          write.tags = .some(nil)
          let outcome = try store.edit(key, edit, if: condition ?? .stamp(0), by: nil)
          if outcome.isRefused { return false }
          try outcome.checkCommitted()
          isTaken = true
          return true
        }
        return isTaken
      }
    }
  }

}

package struct ImportedEntry: Sendable {
  package let key: String
  let format: ArchiveFormat
  let payload: Data
  /// Nanoseconds since 1970; `nil` for the time of storing.
  let created: Int64?
  let lastAccess: Int64?
  /// Nanoseconds since 1970; 0 for never.
  let expires: Int64

  package var valueSize: Int { payload.count }

  /// Approximate bytes.
  package var size: Int { key.utf8.count + payload.count + RecordHeader.baseSize }

  /// - Throws: `.invalidArgument` for an overlong key or value, `.encodingFailed`.
  package init(
    key: String, value: ImportedValue, created: Int64?, lastAccess: Int64?, expires: Int64
  ) throws(CacheError) {
    (format, payload) = try value.archive()
    try DiskStore.checkLengths(key, key.utf8.count, payload.count)
    self.key = key
    self.created = created
    self.lastAccess = lastAccess
    self.expires = expires
  }

  /// The header of its record. Impossible times (future ones, or an access before the creation) are corrected.
  func header(for key: CacheKey, _ bytes: ByteView, in store: DiskStore) throws(CacheError) -> RecordHeader {
    var header = try store.header(for: key, format, bytes, expires: expires, cost: nil)
    let now = header.created
    header.created = created.map { min(now, RecordHeader.seconds($0)) } ?? now
    header.lastAccess = lastAccess.map { min(now, max(header.created, RecordHeader.seconds($0))) } ?? now
    return header
  }
}

package enum ImportedValue: Sendable {
  case bytes(Data)
  /// Readable with both `value(_:forKey:)` and `object(forKey:)`.
  case plain(PlainValue)
  /// An archive of `NSKeyedArchiver`, stored as it is.
  case keyedArchive(Data)
  /// The input of `customUnarchive`.
  case custom(Data)

  func archive() throws(CacheError) -> (format: ArchiveFormat, payload: Data) {
    switch self {
    case .bytes(let data): (.bytes, data)
    case .keyedArchive(let data): (.keyedArchive, data)
    case .custom(let data): (.custom, data)
    case .plain(let value): try Self.archive(of: value)
    }
  }

  /// Scalars are stored as they are and can be read as objects too. Collections are archived, since elements may have
  /// any types.
  private static func archive(of value: PlainValue) throws(CacheError) -> (format: ArchiveFormat, payload: Data) {
    switch value {
    case .bool(let value): try raw(value)
    case .integer(let value): try raw(value)
    case .unsigned(let value): try raw(value)
    case .double(let value): try raw(value)
    case .string(let value): try raw(value)
    case .data(let value): (.bytes, value)
    case .date(let value): try raw(value)
    case .url(let value): try raw(value)
    case .uuid(let value): try raw(value)
    case .null, .array, .dictionary: try collection(value)
    }
  }

  private static func raw(_ value: some RawArchivable) throws(CacheError) -> (format: ArchiveFormat, payload: Data) {
    try value.withRawBytes { (format, bytes) throws(CacheError) in (format, Data(bytes)) }
  }

  private static func collection(_ value: PlainValue) throws(CacheError) -> (format: ArchiveFormat, payload: Data) {
    do {
      #if canImport(Darwin)
        return (.keyedArchive, try KeyedArchive.data(of: value.object))
      #else
        return (
          .objectGraph, try CBORKeyedArchiver.archivedData(withRootObject: value.object, requiringSecureCoding: false)
        )
      #endif
    } catch {
      throw .notArchived("A collection", error)
    }
  }
}

/// An entry from another store, with its times.
protocol StorableEntry {
  var key: String { get }

  func withEdit<R>(
    of key: CacheKey, in cache: LMDBCache, _ body: (DiskStore.Edit) throws(CacheError) -> R
  ) throws(CacheError) -> R
}

extension StorableEntry {
  func add(to batch: BatchFrames, in cache: LMDBCache) throws(CacheError) {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try withEdit(of: key, in: cache) { (edit) throws(CacheError) in
        guard case .put(let header, let draft) = edit else { preconditionFailure("It is an entry that is stored.") }
        try cache.store.put(key, header: header, payload: draft.payload, through: draft.transforms, into: batch)
      }
    }
  }
}

extension ImportedEntry: StorableEntry {
  func withEdit<R>(
    of key: CacheKey, in cache: LMDBCache, _ body: (DiskStore.Edit) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try payload.withBytes { (bytes) throws(CacheError) in
      try body(.put(header(for: key, bytes, in: cache.store), ValueDraft(bytes, cache.reader.transforms)))
    }
  }
}

extension EntryRecord: StorableEntry {
  func withEdit<R>(
    of key: CacheKey, in cache: LMDBCache, _ body: (DiskStore.Edit) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    var header = header
    // Key and value may be stored differently here.
    header.keyLength = 0
    header.flags.remove(.pointer)
    header.tags = entry.tags?.hashes
    return try withExtendedLifetime(entry.tags) { () throws(CacheError) in
      try stored.withBytes { (bytes) throws(CacheError) in try body(.put(header, ValueDraft(bytes, .none))) }
    }
  }
}
