import Foundation
import LMDB
import Platform
import Synchronization

/// A garage in an LMDB environment: a record for each object, and an index by sync status. Each commit is one durable
/// transaction.
final class LMDBStore: GarageStore {
  struct Databases {
    /// Records by key.
    let objects: Database
    /// Empty values by sync status and key.
    let statuses: Database
    /// ``isEncrypted`` if anything is.
    let facts: Database

    static let isEncrypted: [UInt8] = [2]
  }

  let environment: Environment
  private let directory: Directory
  private let databases: Databases
  private let markLock: FileLock
  /// Whether LMDB has found no damage, so that commits may be marked as sound.
  private let isTrusted = Atomic<Bool>(true)
  /// Records read, for tests of queries.
  let recordsRead = Atomic<Int>(0)

  init(directory url: URL, mapSize: Int) throws {
    guard mapSize >= 1 << 20 else {
      throw GarageError.invalidStore("A mapSize of \(mapSize) bytes is too small. Use at least 1 MiB.")
    }
    let opening = try GarageOpening(url.path)
    directory = opening.directory
    var options = Environment.Options()
    options.mapSize = mapSize
    options.maxDatabases = 3
    options.syncMode = .full
    do {
      let environment = try Environment.open(directory, options: options)
      self.environment = environment
      do {
        databases = try Self.openDatabases(environment, directory)
      } catch {
        environment.close()
        throw error
      }
    } catch let error as LMDBError {
      throw GarageError.storageFailed(error)
    } catch let error as SystemError {
      throw GarageError.openingFailed(url.path, error)
    }
    markLock = opening.finish()
    markSound()
  }

  func close() {
    markSound()
    environment.close()
    do throws(SystemError) {
      try markLock.unlock()
    } catch {
      assertionFailure("\(error)")
    }
  }

  private static func openDatabases(_ environment: Environment, _ directory: Directory) throws -> Databases {
    let (entries, record) = try environment.withReadTransaction { (transaction) throws(LMDBError) in
      var record = GarageRecord()
      try transaction.forEachEntry { record.note($0, $1) }
      return (try transaction.statistics().entries, record)
    }
    if entries > 0 {
      try record.requireGarage(directory.path)
    } else {
      // Make the directory durable before anything is parked, to keep objects across a power cut.
      try directory.synchronizePath()
      let transaction = try environment.beginWrite()
      try transaction.put(GarageRecord.bytes, GarageRecord.key)
      try transaction.commit()
    }
    return Databases(
      objects: try environment.openDatabase(named: "objects"),
      statuses: try environment.openDatabase(named: "statuses"),
      facts: try environment.openDatabase(named: "facts"))
  }

  // MARK: - Trust

  /// Marks the current file as sound for the next opening, unless LMDB found it damaged.
  private func markSound() {
    do throws(SystemError) {
      let state = isTrusted.load(ordering: .relaxed) ? try DataFileState(in: directory) : nil
      try GarageMark(isMade: true, state: state).write(to: markLock.file)
    } catch {
      // Harmless: the next opening verifies the file.
    }
  }

  private func converting<R>(_ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as LMDBError {
      if error.code == .corrupted {
        isTrusted.store(false, ordering: .relaxed)
        markSound()
      }
      throw GarageError.storageFailed(error)
    }
  }

  // MARK: - Transactions

  func read<R>(_ body: (any StoreSnapshot) throws -> R) throws -> R {
    try converting {
      try environment.withReadTransaction { (transaction) throws(LMDBError) in
        let snapshot = unsafe LMDBSnapshot(transaction.alias(), databases, self)
        return Result { try body(snapshot) }
      }.get()
    }
  }

  func commit(_ changes: PendingChanges) throws {
    guard !changes.isEmpty else { return }
    try converting { try write(changes) }
    markSound()
  }

  /// Runs one transaction, and again with a larger map if it is full.
  private func write(_ changes: PendingChanges) throws {
    while true {
      do {
        let transaction = try environment.beginWrite()
        try LMDBCommit(changes: changes, databases: databases).run(transaction)
        return try transaction.commit()
      } catch let error as LMDBError where error.code == .mapFull {
        let size = try environment.info().mapSize
        try environment.growMap(to: size + max(size, 16 << 20))
      }
    }
  }
}

/// Writes changes in a transaction. Reads current data in the same transaction, so that no other process's changes are
/// lost.
private struct LMDBCommit {
  let changes: PendingChanges
  let databases: LMDBStore.Databases

  func run(_ transaction: borrowing WriteTransaction) throws {
    try clear(transaction)
    try checkEncryption(transaction)
    // Key order is the cheapest.
    for (key, change) in changes.objects.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
      try apply(change, key, transaction)
    }
  }

  private func clear(_ transaction: borrowing WriteTransaction) throws {
    if changes.clearsAll {
      try transaction.removeAll(in: databases.objects)
      try transaction.removeAll(in: databases.statuses)
      try transaction.remove(LMDBStore.Databases.isEncrypted, in: databases.facts)
    }
    for type in changes.clearedTypes {
      let prefix = ObjectKey.prefix(ofType: type)
      try transaction.removeAll(withPrefix: prefix, in: databases.objects)
      for status in SyncStatus.allCases {
        try transaction.removeAll(withPrefix: [UInt8(status.rawValue)] + prefix, in: databases.statuses)
      }
    }
  }

  /// An encrypted garage accepts no plain text.
  private func checkEncryption(_ transaction: borrowing WriteTransaction) throws {
    let parked = changes.objects.values.compactMap { change -> Bool? in
      if case .parked(_, let isEncrypted) = change.content { isEncrypted } else { nil }
    }
    let key = LMDBStore.Databases.isEncrypted
    if try transaction.value(key, in: databases.facts) != nil {
      if parked.contains(false) { throw GarageError.missingEncryptionDelegate("The garage") }
    } else if parked.contains(true) {
      try transaction.put([1], key, in: databases.facts)
    }
  }

  private func apply(
    _ change: PendingChanges.Change, _ key: ObjectKey, _ transaction: borrowing WriteTransaction
  ) throws {
    let stored = try transaction.value(key.bytes, in: databases.objects)
    let before = stored.flatMap(StoredRecord.status)
    var after: SyncStatus?
    switch change.content {
    case .deleted:
      try transaction.remove(key.bytes, in: databases.objects)
    case .parked(let content, let isEncrypted):
      let status = change.status ?? before ?? .undetermined
      after = status
      let record = StoredRecord(content: content, isEncrypted: isEncrypted, status: status)
      try transaction.put(record.bytes(for: key), key.bytes, in: databases.objects)
    case .unchanged:
      // Deleted by another process, or damaged: nothing to set.
      guard var stored, let before else { return }
      let status = change.status ?? before
      after = status
      StoredRecord.set(status, in: &stored)
      try transaction.put(stored, key.bytes, in: databases.objects)
    }
    guard before != after else { return }
    // A damaged record's status is unknown.
    for status in before.map({ [$0] }) ?? (stored == nil ? [] : SyncStatus.allCases) {
      try transaction.remove([UInt8(status.rawValue)] + key.bytes, in: databases.statuses)
    }
    if let after { try transaction.put([1], [UInt8(after.rawValue)] + key.bytes, in: databases.statuses) }
  }
}

// Keys and values as arrays.

extension WriteTransaction {
  fileprivate func value(_ key: [UInt8], in database: Database) throws -> [UInt8]? {
    try unsafe key.withUnsafeBytes { key in
      try unsafe withValue(forKey: key, in: database) { (value) throws(LMDBError) in unsafe Array(value) }
    }
  }

  fileprivate func put(_ value: [UInt8], _ key: [UInt8], in database: Database = .main) throws {
    try unsafe key.withUnsafeBytes { key in
      try unsafe value.withUnsafeBytes { try unsafe put($0, forKey: key, in: database) }
    }
  }

  fileprivate func remove(_ key: [UInt8], in database: Database) throws {
    _ = try unsafe key.withUnsafeBytes { try unsafe remove(forKey: $0, in: database) }
  }

  fileprivate func removeAll(withPrefix prefix: [UInt8], in database: Database) throws {
    try withCursor(in: database) { (cursor) throws(LMDBError) in
      var entry = try cursor.seek(toKeyAtOrAfter: prefix)
      while let present = entry, unsafe present.key.starts(with: prefix) {
        try cursor.remove()
        entry = try cursor.next()
      }
    }
  }
}

extension GarageError {
  static func storageFailed(_ error: LMDBError) -> GarageError {
    switch error.code {
    case .corrupted:
      GarageError(
        .damagedStore,
        "The garage's file is damaged: \(error.message) Close the garage, and put a backup of its directory in its "
          + "place; mdb_copy and mdb_dump may save what can be read. Nothing was removed.", underlying: error)
    default: GarageError(.storageFailed, "The store failed: \(error.message)", underlying: error)
    }
  }
}
