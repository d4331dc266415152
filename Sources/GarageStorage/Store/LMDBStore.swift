import Foundation
import LMDB
import Synchronization

/// A garage's objects in an LMDB environment: of each object a record, and an entry in the index by sync status.
///
/// Every commit waits for the disk. What changes together is one transaction.
final class LMDBStore: GarageStore {
  struct Databases {
    /// Records by the bytes of their keys.
    let objects: Database
    /// Nothing, by the sync status and the bytes of the key.
    let statuses: Database
    /// What types are called now, by the digest of what they were called.
    let aliases: Database
    /// Facts about the whole.
    let facts: Database
  }

  /// Of the format. A garage of a newer one is not opened.
  private static let version: UInt8 = 1

  let environment: Environment
  private let databases: Databases
  /// How many records were read: for tests, to see that queries read no more than they have to.
  let recordsRead = Atomic<Int>(0)

  init(directory: URL, mapSize: Int) throws(GarageError) {
    guard mapSize >= 1 << 20 else {
      throw .invalidStore("A mapSize of \(mapSize) bytes is too small. Use at least 1 MiB.")
    }
    do {
      try FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .storageFailed(error)
    }
    do throws(LMDBError) {
      var options = Environment.Options()
      options.mapSize = mapSize
      options.maxDatabases = 4
      options.syncMode = .full
      environment = try Environment.open(directory: directory.path, options: options)
    } catch {
      throw .storageFailed(error)
    }
    do throws(LMDBError) {
      databases = Databases(
        objects: try environment.openDatabase(named: "objects"),
        statuses: try environment.openDatabase(named: "statuses"),
        aliases: try environment.openDatabase(named: "aliases"),
        facts: try environment.openDatabase(named: "facts"))
    } catch {
      environment.close()
      throw .storageFailed(error)
    }
    do throws(GarageError) {
      try checkVersion(directory)
    } catch {
      environment.close()
      throw error
    }
  }

  func close() { environment.close() }

  private func checkVersion(_ directory: URL) throws(GarageError) {
    let stored: UInt8?
    do throws(LMDBError) {
      stored = try environment.withReadTransaction { (transaction) throws(LMDBError) in
        try LMDBSnapshot.fact(.version, transaction, databases)
      }
      if stored == nil {
        try write { (transaction) throws(LMDBError) in
          try LMDBSnapshot.setFact(.version, Self.version, transaction, databases)
        }
      }
    } catch {
      throw .storageFailed(error)
    }
    guard let stored, stored != Self.version else { return }
    throw .invalidStore(
      "The garage at \(directory.path) has format \(stored). Open it with a newer version of this package.")
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
      throw GarageError.storageFailed(error)
    }
    return try result.get()
  }

  // MARK: - Writing

  func commit(_ changes: PendingChanges) throws(GarageError) {
    guard !changes.isEmpty else { return }
    var refusal: GarageError?
    do throws(LMDBError) {
      try write { (transaction) throws(LMDBError) in
        refusal = nil
        do throws(GarageError) {
          try LMDBCommit(changes, databases).run(transaction)
        } catch .storageFailed(let error as LMDBError) {
          throw error
        } catch {
          refusal = error
          throw LMDBError(code: .badTransaction, operation: "GarageStore.commit")
        }
      }
    } catch {
      throw refusal ?? .storageFailed(error)
    }
  }

  /// One transaction, again with a larger map if that is full.
  private func write(_ body: (borrowing WriteTransaction) throws(LMDBError) -> Void) throws(LMDBError) {
    while true {
      do throws(LMDBError) {
        let transaction = try environment.beginWrite()
        try body(transaction)
        return try transaction.commit()
      } catch {
        guard error.code == .mapFull else { throw error }
        let size = try environment.info().mapSize
        try environment.growMap(to: size + max(size, 16 << 20))
      }
    }
  }
}
