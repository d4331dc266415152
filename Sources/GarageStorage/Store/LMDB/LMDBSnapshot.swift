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
