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
