import LMDB
import Synchronization

final class LMDBSnapshot: StoreSnapshot {
  /// Keys of the facts database; each value has one byte.
  enum Fact: UInt8 {
    case isEncrypted = 2
  }

  private let transaction: ReadTransaction
  private let databases: LMDBStore.Databases
  private unowned let store: LMDBStore

  init(_ transaction: consuming ReadTransaction, _ databases: LMDBStore.Databases, _ store: LMDBStore) {
    self.transaction = transaction
    self.databases = databases
    self.store = store
  }

  private func reading<R>(_ body: () throws(LMDBError) -> R) throws(GarageError) -> R {
    do throws(LMDBError) { return try body() } catch { throw .storageFailed(error) }
  }

  // MARK: - Objects

  func record(_ key: ObjectKey) throws(GarageError) -> StoredRecord? {
    let found = try reading { () throws(LMDBError) in try parsed(key.bytes) }
    switch found {
    case nil: return nil
    case .parsed(let other, let record)?
    where other.type == key.type && other.identifier.utf8.elementsEqual(key.identifier.utf8):
      return record
    case .parsed?, .damaged?: throw damaged(key.type, key.identifier)
    }
  }

  private enum Found {
    case parsed(ObjectKey, StoredRecord)
    case damaged
  }

  private func parsed(_ key: [UInt8]) throws(LMDBError) -> Found? {
    try key.withBytes { (key) throws(LMDBError) in
      try transaction.withValue(forKey: key, in: databases.objects) { value in
        store.recordsRead.add(1, ordering: .relaxed)
        return StoredRecord.parse(value, key: key).map(Found.parsed) ?? .damaged
      }
    }
  }

  private func damaged(_ type: String, _ identifier: String) -> GarageError {
    identifier.isEmpty
      ? .damaged(type: ObjectKey.shortName(ofType: type), "its record cannot be read")
      : .damaged(ObjectKey(type: type, identifier: identifier).label, "its record cannot be read")
  }

  func records(ofType type: String) throws(GarageError) -> [(ObjectKey, StoredRecord)] {
    var isDamaged = false
    let records = try reading { () throws(LMDBError) in
      var records: [(ObjectKey, StoredRecord)] = []
      try forEachEntry(in: databases.objects, from: ObjectKey.prefix(ofType: type)) { key, value in
        store.recordsRead.add(1, ordering: .relaxed)
        if let record = StoredRecord.parse(value, key: key) { records.append(record) } else { isDamaged = true }
      }
      return records
    }
    guard !isDamaged else { throw damaged(type, "") }
    return records.filter { $0.0.type == type }
  }

  func records(ofType type: String, _ status: SyncStatus) throws(GarageError) -> [(ObjectKey, StoredRecord)] {
    var isDamaged = false
    let records = try reading { () throws(LMDBError) in
      var keys: [[UInt8]] = []
      try forEachEntry(
        in: databases.statuses, from: [UInt8(status.rawValue)] + ObjectKey.prefix(ofType: type)
      ) { key, _ in keys.append(Array(key.dropFirst())) }
      var records: [(ObjectKey, StoredRecord)] = []
      for key in keys {
        switch try parsed(key) {
        // If they disagree, the record is authoritative.
        case .parsed(let key, let record)?: if record.status == status { records.append((key, record)) }
        case .damaged?, nil: isDamaged = true
        }
      }
      return records
    }
    guard !isDamaged else { throw damaged(type, "") }
    return records.filter { $0.0.type == type }
  }

  private func forEachEntry(
    in database: Database, from prefix: [UInt8],
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
  ) throws(LMDBError) {
    try prefix.withBytes { (start) throws(LMDBError) in
      try transaction.withCursor(in: database) { (cursor) throws(LMDBError) in
        var entry = try cursor.seek(toKeyAtOrAfter: start)
        while let present = entry, present.key.starts(with: prefix) {
          body(present.key, present.value)
          entry = try cursor.next()
        }
      }
    }
  }

  func types() throws(GarageError) -> [String] {
    try reading { () throws(LMDBError) in
      try transaction.withCursor(in: databases.objects) { (cursor) throws(LMDBError) in
        var types: [String] = []
        var entry = try cursor.first()
        while let present = entry {
          // Visits the first object of each type, then skips to the next type.
          guard let (key, _) = StoredRecord.parse(present.value, key: present.key) else {
            entry = try cursor.next()
            continue
          }
          types.append(key.type)
          let after = Array(key.prefix) + [0xff]
          entry = try after.withBytes { (after) throws(LMDBError) in try cursor.seek(toKeyAtOrAfter: after) }
        }
        return types
      }
    }
  }

  // MARK: - The rest

  func isEncrypted() throws(GarageError) -> Bool {
    try reading { () throws(LMDBError) in try Self.fact(.isEncrypted, transaction, databases) != nil }
  }

  static func fact(
    _ fact: Fact, _ transaction: borrowing ReadTransaction, _ databases: LMDBStore.Databases
  ) throws(LMDBError) -> UInt8? {
    try [fact.rawValue].withBytes { (key) throws(LMDBError) in
      try transaction.withValue(forKey: key, in: databases.facts) { $0.first ?? 0 }
    }
  }
}

struct StoredRecord {
  /// UTF-8 JSON, or its encrypted text.
  var content: [UInt8]
  var isEncrypted: Bool
  var status: SyncStatus
}

extension StoredRecord {
  /// A record is a version, flags, the sync status and a zero; the lengths (32 bits, little-endian) and UTF-8 of the
  /// type's name and the identifier if the key holds only digests of them; and the content.
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

  static func status(in bytes: UnsafeRawBufferPointer) -> SyncStatus? {
    guard bytes.count >= headerSize, bytes[0] == version else { return nil }
    return SyncStatus(rawValue: Int(bytes[2]))
  }

  static func set(_ status: SyncStatus, in bytes: inout [UInt8]) { bytes[2] = UInt8(status.rawValue) }

  /// - Parameter key: The record's key.
  /// - Returns: `nil` if the record is damaged or does not belong to the key.
  static func parse(_ bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> (ObjectKey, StoredRecord)? {
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
      found.bytes.elementsEqual(key)
    else { return nil }
    return (found, StoredRecord(content: Array(rest), isEncrypted: bytes[1] & encrypted != 0, status: status))
  }
}

extension [UInt8] {
  /// Lends the bytes, keeping the body's typed error.
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    let result = withUnsafeBytes { bytes -> Result<R, E> in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

extension [UInt8] {
  /// Whether `part` occurs anywhere in the bytes.
  func contains(_ part: [UInt8]) -> Bool {
    guard let first = part.first, part.count <= count else { return part.isEmpty }
    return withUnsafeBufferPointer { bytes in
      var start = 0
      while start <= bytes.count - part.count {
        if bytes[start] == first, bytes[start..<start + part.count].elementsEqual(part) { return true }
        start += 1
      }
      return false
    }
  }
}
