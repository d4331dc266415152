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
    let facts: Database
  }

  let environment: Environment
  private let directory: Directory
  private let databases: Databases
  private let markLock: FileLock
  /// Whether LMDB has found no damage, so that commits may be marked as sound.
  private let isTrusted = Atomic<Bool>(true)
  /// Records read, for tests of queries.
  let recordsRead = Atomic<Int>(0)

  init(directory url: URL, mapSize: Int) throws(GarageError) {
    guard mapSize >= 1 << 20 else {
      throw .invalidStore("A mapSize of \(mapSize) bytes is too small. Use at least 1 MiB.")
    }
    let opening = try GarageOpening(url.path)
    directory = opening.directory
    environment = try Self.open(directory, mapSize)
    do throws(GarageError) {
      databases = try Self.openDatabases(environment, directory)
    } catch {
      environment.close()
      throw error
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

  // MARK: - Opening

  private static func open(_ directory: Directory, _ mapSize: Int) throws(GarageError) -> Environment {
    var options = Environment.Options()
    options.mapSize = mapSize
    options.maxDatabases = 3
    options.syncMode = .full
    do throws(LMDBError) {
      return try Environment.open(directory, options: options)
    } catch {
      throw .storageFailed(error)
    }
  }

  private static func openDatabases(_ environment: Environment, _ directory: Directory) throws(GarageError) -> Databases
  {
    if try !isMade(environment, directory) {
      // Make the directory durable before anything is parked, to keep objects across a power cut.
      try GarageOpening.calling(directory.path) { () throws(SystemError) in try directory.synchronizePath() }
      try make(environment)
    }
    do throws(LMDBError) {
      return Databases(
        objects: try environment.openDatabase(named: "objects"),
        statuses: try environment.openDatabase(named: "statuses"),
        facts: try environment.openDatabase(named: "facts"))
    } catch {
      throw .storageFailed(error)
    }
  }

  /// Whether the environment already is a garage's, not new.
  private static func isMade(_ environment: Environment, _ directory: Directory) throws(GarageError) -> Bool {
    let found: (entries: Int, record: GarageRecord.Reading?, isCache: Bool)
    do throws(LMDBError) {
      found = try environment.withReadTransaction { (transaction) throws(LMDBError) in
        (
          try transaction.statistics().entries,
          try GarageRecord.key.withBytes { (key) throws(LMDBError) in
            try transaction.withValue(forKey: key) { GarageRecord.read($0) }
          },
          try GarageRecord.cacheKey.withBytes { (key) throws(LMDBError) in
            try transaction.withValue(forKey: key) { _ in true } ?? false
          }
        )
      }
    } catch {
      throw .storageFailed(error)
    }
    guard found.entries > 0 else { return false }
    return try DataFileCheck.check(found.record, isCache: found.isCache, directory.path) == .garage
  }

  private static func make(_ environment: Environment) throws(GarageError) {
    var isOthers = false
    do throws(LMDBError) {
      let transaction = try environment.beginWrite()
      isOthers = try transaction.statistics().entries > 0
      guard !isOthers else { return transaction.abort() }
      try GarageRecord.key.withBytes { (key) throws(LMDBError) in
        try GarageRecord.bytes.withBytes { (value) throws(LMDBError) in try transaction.put(value, forKey: key) }
      }
      try transaction.commit()
    } catch {
      throw .storageFailed(error)
    }
  }

  // MARK: - Trust

  /// Marks the current file as sound for the next opening.
  private func markSound() {
    guard isTrusted.load(ordering: .relaxed) else { return }
    do throws(SystemError) {
      let state = try DataFileState(in: directory)
      try StateMark(isMade: true, state: state).write(to: markLock.file)
    } catch {
      // Harmless: the next opening verifies the file.
    }
  }

  /// Makes the next opening verify the file if LMDB found it damaged.
  private func failure(_ error: LMDBError) -> GarageError {
    if error.code == .corrupted || error.code == .pageNotFound {
      isTrusted.store(false, ordering: .relaxed)
      do throws(SystemError) {
        try StateMark(isMade: true, state: nil).write(to: markLock.file)
      } catch {
        // The caller gets the error about the damage.
      }
    }
    return .storageFailed(error)
  }

  // MARK: - Reading

  func read<R>(_ body: (any StoreSnapshot) throws -> R) throws -> R {
    let result: Result<R, any Error>
    do throws(LMDBError) {
      result = try environment.withReadTransaction { (transaction) throws(LMDBError) in
        let snapshot = LMDBSnapshot(transaction.alias(), databases, self)
        return Result { try body(snapshot) }
      }
    } catch {
      throw failure(error)
    }
    return try result.get()
  }

  // MARK: - Writing

  func commit(_ changes: PendingChanges) throws(GarageError) {
    guard !changes.isEmpty else { return }
    let isAllowed: Bool
    do throws(LMDBError) {
      isAllowed = try write(changes)
    } catch {
      throw failure(error)
    }
    guard isAllowed else { throw .missingEncryptionDelegate("The garage") }
    markSound()
  }

  /// Runs one transaction, and again with a larger map if it is full.
  private func write(_ changes: PendingChanges) throws(LMDBError) -> Bool {
    while true {
      do throws(LMDBError) {
        let transaction = try environment.beginWrite()
        guard try LMDBCommit(changes, databases).run(transaction) else {
          transaction.abort()
          return false
        }
        try transaction.commit()
        return true
      } catch {
        guard error.code == .mapFull else { throw error }
        let size = try environment.info().mapSize
        try environment.growMap(to: size + max(size, 16 << 20))
      }
    }
  }
}

// The only conversion of LMDB's errors to the garage's.

extension GarageError {
  static func storageFailed(_ error: LMDBError) -> GarageError {
    switch error.code {
    case .corrupted, .pageNotFound:
      GarageError(
        .damagedStore,
        "The garage's file is damaged: \(error.message) Close the garage, and put a backup of its directory in its "
          + "place; mdb_copy and mdb_dump may save what can be read. Nothing was removed.", underlying: error)
    default: GarageError(.storageFailed, "The store failed: \(error.message)", underlying: error)
    }
  }
}

/// Writes changes in a transaction. Reads current data in the same transaction, so that no other process's changes are
/// lost.
struct LMDBCommit {
  private let changes: PendingChanges
  private let databases: LMDBStore.Databases

  init(_ changes: PendingChanges, _ databases: LMDBStore.Databases) {
    self.changes = changes
    self.databases = databases
  }

  /// - Returns: Whether to commit: `false` if plain text would enter an encrypted garage.
  func run(_ transaction: borrowing WriteTransaction) throws(LMDBError) -> Bool {
    try clear(transaction)
    guard try checkEncryption(transaction) else { return false }
    // Key order is the cheapest.
    for (key, change) in changes.objects.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
      try apply(change, key, transaction)
    }
    return true
  }

  private func clear(_ transaction: borrowing WriteTransaction) throws(LMDBError) {
    if changes.clearsAll {
      try transaction.removeAll(in: databases.objects)
      try transaction.removeAll(in: databases.statuses)
      _ = try [LMDBSnapshot.Fact.isEncrypted.rawValue].withBytes { (key) throws(LMDBError) in
        try transaction.remove(forKey: key, in: databases.facts)
      }
    }
    for type in changes.clearedTypes {
      let prefix = ObjectKey.prefix(ofType: type)
      try remove(prefix, in: databases.objects, transaction)
      for status in SyncStatus.allCases {
        try remove([UInt8(status.rawValue)] + prefix, in: databases.statuses, transaction)
      }
    }
  }

  private func remove(
    _ prefix: [UInt8], in database: Database, _ transaction: borrowing WriteTransaction
  ) throws(LMDBError) {
    try prefix.withBytes { (start) throws(LMDBError) in
      try transaction.withCursor(in: database) { (cursor) throws(LMDBError) in
        var entry = try cursor.seek(toKeyAtOrAfter: start)
        while let present = entry, present.key.starts(with: prefix) {
          try cursor.remove()
          entry = try cursor.next()
        }
      }
    }
  }

  /// An encrypted garage accepts no plain text.
  private func checkEncryption(_ transaction: borrowing WriteTransaction) throws(LMDBError) -> Bool {
    var storesPlainText = false
    var storesEncrypted = false
    for change in changes.objects.values {
      if case .parked(_, let isEncrypted) = change.content {
        if isEncrypted { storesEncrypted = true } else { storesPlainText = true }
      }
    }
    return try [LMDBSnapshot.Fact.isEncrypted.rawValue].withBytes { (key) throws(LMDBError) in
      let isEncrypted = try transaction.withValue(forKey: key, in: databases.facts) { _ in true } ?? false
      if storesEncrypted && !isEncrypted {
        try [1].withBytes { (value) throws(LMDBError) in
          try transaction.put(value, forKey: key, in: databases.facts)
        }
      }
      return !isEncrypted || !storesPlainText
    }
  }

  private func apply(
    _ change: PendingChanges.Change, _ key: ObjectKey, _ transaction: borrowing WriteTransaction
  ) throws(LMDBError) {
    try key.bytes.withBytes { (place) throws(LMDBError) in
      // The status, and the bytes if needed again.
      var isThere = false
      var before: SyncStatus?
      var bytes: [UInt8] = []
      _ = try transaction.withValue(forKey: place, in: databases.objects) { value in
        isThere = true
        before = StoredRecord.status(in: value)
        if case .unchanged = change.content { bytes = Array(value) }
      }
      var after: SyncStatus?
      switch change.content {
      case .deleted:
        _ = try transaction.remove(forKey: place, in: databases.objects)
      case .parked(let content, let isEncrypted):
        let status = change.status ?? before ?? .undetermined
        after = status
        let record = StoredRecord(content: content, isEncrypted: isEncrypted, status: status)
        try record.bytes(for: key).withBytes { (value) throws(LMDBError) in
          try transaction.put(value, forKey: place, in: databases.objects)
        }
      case .unchanged:
        // Deleted by another process, or damaged: nothing to set.
        guard isThere, before != nil else { return }
        after = change.status ?? before
        StoredRecord.set(after ?? .undetermined, in: &bytes)
        try bytes.withBytes { (value) throws(LMDBError) in
          try transaction.put(value, forKey: place, in: databases.objects)
        }
      }
      try index(key, from: before, to: after, isThere, transaction)
    }
  }

  private func index(
    _ key: ObjectKey, from before: SyncStatus?, to after: SyncStatus?, _ wasThere: Bool,
    _ transaction: borrowing WriteTransaction
  ) throws(LMDBError) {
    guard before != after else { return }
    // A damaged record's status is unknown.
    let removed = before.map { [$0] } ?? (wasThere ? SyncStatus.allCases : [])
    for status in removed {
      _ = try ([UInt8(status.rawValue)] + key.bytes).withBytes { (entry) throws(LMDBError) in
        try transaction.remove(forKey: entry, in: databases.statuses)
      }
    }
    guard let after else { return }
    try ([UInt8(after.rawValue)] + key.bytes).withBytes { (entry) throws(LMDBError) in
      try [UInt8(1)].withBytes { (value) throws(LMDBError) in
        try transaction.put(value, forKey: entry, in: databases.statuses)
      }
    }
  }
}
