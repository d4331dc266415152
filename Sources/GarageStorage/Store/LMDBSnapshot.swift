import LMDB
import Synchronization

final class LMDBSnapshot: StoreSnapshot {
  private let transaction: ReadTransaction
  private let databases: LMDBStore.Databases
  private unowned let store: LMDBStore

  init(_ transaction: consuming ReadTransaction, _ databases: LMDBStore.Databases, _ store: LMDBStore) {
    self.transaction = transaction
    self.databases = databases
    self.store = store
  }

  func record(_ key: ObjectKey) throws -> StoredRecord? {
    try found(key.bytes, orThrow: .damaged(key.label, "its record cannot be read"))?.1
  }

  private func found(
    _ key: [UInt8], orThrow damage: @autoclosure () -> GarageError
  ) throws -> (ObjectKey, StoredRecord)? {
    guard let value = try transaction.value(key, in: databases.objects) else { return nil }
    guard let found = parsed(key, value) else { throw damage() }
    return found
  }

  private func parsed(_ key: [UInt8], _ value: [UInt8]) -> (ObjectKey, StoredRecord)? {
    store.recordsRead.add(1, ordering: .relaxed)
    return StoredRecord.parse(value, key: key)
  }

  func records(ofType type: String, _ status: SyncStatus?) throws -> [(ObjectKey, StoredRecord)] {
    let prefix = ObjectKey.prefix(ofType: type)
    var records: [(ObjectKey, StoredRecord)?] = []
    if let status {
      var keys: [[UInt8]] = []
      try transaction.forEachEntry(in: databases.statuses, withPrefix: [UInt8(status.rawValue)] + prefix) { key, _ in
        keys.append(Array(key.dropFirst()))
      }
      records = try keys.map { try found($0, orThrow: Self.damaged(type)) }
    } else {
      try transaction.forEachEntry(in: databases.objects, withPrefix: prefix) { records.append(parsed($0, $1)) }
    }
    return try records.compactMap { record in
      guard let record else { throw Self.damaged(type) }
      // If the index disagrees, the record is authoritative.
      return status == nil || record.1.status == status ? record : nil
    }
  }

  private static func damaged(_ type: String) -> GarageError {
    .damaged(type: ObjectKey.shortName(ofType: type), "its record cannot be read")
  }

  func types() throws -> [String] {
    try transaction.withCursor(in: databases.objects) { (cursor) throws(LMDBError) in
      var types: [String] = []
      var entry = try cursor.first()
      while let present = entry {
        // Visits the first object of each type, then skips to the next type.
        let (key, value) = present.copy
        guard let (key, _) = StoredRecord.parse(value, key: key) else {
          entry = try cursor.next()
          continue
        }
        types.append(key.type)
        // The first entry behind all keys with the prefix.
        entry = try cursor.seek(toKeyAtOrAfter: key.prefix + [0xff])
      }
      return types
    }
  }

  func isEncrypted() throws -> Bool {
    try transaction.value(LMDBStore.Databases.isEncrypted, in: databases.facts) != nil
  }
}

// Keys and values as arrays.

extension ReadTransaction {
  func value(_ key: [UInt8], in database: Database) throws -> [UInt8]? {
    try unsafe key.withUnsafeBytes { key in
      try unsafe withValue(forKey: key, in: database) { (value) throws(LMDBError) in unsafe Array(value) }
    }
  }

  /// Calls `body` with the entries of a database whose keys have a prefix.
  func forEachEntry(
    in database: Database = .main, withPrefix prefix: [UInt8] = [],
    _ body: ([UInt8], [UInt8]) -> Void
  ) throws(LMDBError) {
    try withCursor(in: database) { (cursor) throws(LMDBError) in
      var entry = try prefix.isEmpty ? cursor.first() : cursor.seek(toKeyAtOrAfter: prefix)
      while let (key, value) = entry?.copy, key.starts(with: prefix) {
        body(key, value)
        entry = try cursor.next()
      }
    }
  }
}

extension Cursor {
  func seek(toKeyAtOrAfter key: [UInt8]) throws(LMDBError) -> Entry? {
    try unsafe key.span.bytes.withUnsafeBytes { (key) throws(LMDBError) in try unsafe seek(toKeyAtOrAfter: key) }
  }
}

extension Cursor.Entry {
  var copy: (key: [UInt8], value: [UInt8]) { unsafe (Array(key), Array(value)) }
}

/// A record is a version, flags, the sync status and a zero; the lengths (32 bits, little-endian) and UTF-8 of the type's
/// name and the identifier if the key holds only digests of them; and the content.
struct StoredRecord {
  /// UTF-8 JSON, or its encrypted text.
  var content: [UInt8]
  var isEncrypted: Bool
  var status: SyncStatus

  private static let version: UInt8 = 1
  private static let encrypted: UInt8 = 1
  private static let named: UInt8 = 2
  private static let headerSize = 4

  func bytes(for key: ObjectKey) -> [UInt8] {
    var flags: UInt8 = isEncrypted ? Self.encrypted : 0
    if key.isDigest { flags |= Self.named }
    var bytes = [Self.version, flags, UInt8(status.rawValue), 0]
    if key.isDigest {
      for text in [key.type, key.identifier] {
        for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: text.utf8.count >> shift)) }
      }
      bytes.append(contentsOf: key.type.utf8)
      bytes.append(contentsOf: key.identifier.utf8)
    }
    bytes.append(contentsOf: content)
    return bytes
  }

  static func status(in bytes: [UInt8]) -> SyncStatus? {
    guard bytes.count >= headerSize, bytes[0] == version else { return nil }
    return SyncStatus(rawValue: Int(bytes[2]))
  }

  static func set(_ status: SyncStatus, in bytes: inout [UInt8]) { bytes[2] = UInt8(status.rawValue) }

  /// - Parameter key: The record's key.
  /// - Returns: `nil` if the record is damaged or does not belong to the key.
  static func parse(_ bytes: [UInt8], key: [UInt8]) -> (ObjectKey, StoredRecord)? {
    guard let status = status(in: bytes) else { return nil }
    var rest = bytes[headerSize...]
    var names: (type: String, identifier: String)?
    if bytes[1] & named != 0 {
      guard rest.count >= 8 else { return nil }
      func length(_ offset: Int) -> Int {
        (0..<4).reduce(0) { $0 | Int(rest[rest.startIndex + offset + $1]) << (8 * $1) }
      }
      let (type, identifier) = (length(0), length(4))
      rest = rest.dropFirst(8)
      guard rest.count >= type + identifier,
        let first = String(validating: rest.prefix(type), as: UTF8.self),
        let second = String(validating: rest.dropFirst(type).prefix(identifier), as: UTF8.self)
      else { return nil }
      names = (first, second)
      rest = rest.dropFirst(type + identifier)
    }
    guard let found = names.map({ ObjectKey(type: $0.type, identifier: $0.identifier) }) ?? ObjectKey(bytes: key),
      found.bytes == key
    else { return nil }
    return (found, StoredRecord(content: Array(rest), isEncrypted: bytes[1] & encrypted != 0, status: status))
  }
}

extension [UInt8] {
  /// Whether `part` occurs anywhere in the bytes.
  func contains(_ part: [UInt8]) -> Bool {
    guard let first = part.first, part.count <= count else { return part.isEmpty }
    return (0...count - part.count).contains { self[$0] == first && self[$0..<$0 + part.count].elementsEqual(part) }
  }
}
