import LMDB
import Testing

/// A failing C function, and an operation that calls it.
struct FaultCase: Sendable, CustomTestStringConvertible {
  let call: FaultInjection.Call
  let name: String
  /// The first failing call; all later ones fail too.
  let first: Int
  /// Whether the surrounding write transaction must not commit afterwards.
  let dooms: Bool
  let operation: @Sendable (TemporaryDirectory, Environment) throws(LMDBError) -> Void

  init(
    _ call: FaultInjection.Call, _ name: String, first: Int = 1, dooms: Bool = false,
    _ operation: @escaping @Sendable (TemporaryDirectory, Environment) throws(LMDBError) -> Void
  ) {
    self.call = call
    self.name = name
    self.first = first
    self.dooms = dooms
    self.operation = operation
  }

  /// A case in a write transaction, which commits unless something was thrown.
  static func write(
    _ call: FaultInjection.Call, _ name: String, first: Int = 1, dooms: Bool = true,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws(LMDBError) -> Void
  ) -> FaultCase {
    FaultCase(call, name, first: first, dooms: dooms) { _, environment throws(LMDBError) in
      let transaction = try environment.beginWrite()
      do throws(LMDBError) {
        try body(transaction)
      } catch {
        var end: LMDBError.Code?
        do throws(LMDBError) { try transaction.commit() } catch { end = error.code }
        #expect(end == (dooms ? .badTransaction : nil))
        throw error
      }
      try transaction.commit()
    }
  }

  static func cursor(
    _ call: FaultInjection.Call, _ name: String, first: Int = 1, dooms: Bool = false,
    _ body: @escaping @Sendable (borrowing Cursor) throws(LMDBError) -> Void
  ) -> FaultCase {
    write(call, name, first: first, dooms: dooms) { transaction throws(LMDBError) in
      try transaction.withCursor { cursor throws(LMDBError) in try body(cursor) }
    }
  }

  var testDescription: String {
    "\(call.rawValue) in \(name)"
  }

  static let opening: [FaultInjection.Call] = [
    .envCreate, .envSetMapSize, .envSetMaxReaders, .envSetMaxDatabases, .envOpen, .envStat, .envGetDescriptor,
    .txnBegin, .dbiOpen,
  ]

  /// Failures of an open environment, which has the keys `[1]` and `[2]`.
  static let running: [FaultCase] = [
    FaultCase(.txnRenew, "withReadTransaction") { _, environment throws(LMDBError) in _ = try environment.value([1]) },
    FaultCase(.get, "withValue") { _, environment throws(LMDBError) in _ = try environment.value([1]) },
    FaultCase(.stat, "statistics") { _, environment throws(LMDBError) in
      _ = try environment.withReadTransaction { transaction throws(LMDBError) in try transaction.statistics() }
    },
    FaultCase(.cursorOpen, "withCursor") { _, environment throws(LMDBError) in
      _ = try environment.withReadTransaction { transaction throws(LMDBError) in try transaction.all() }
    },
    FaultCase(.cursorGet, "first") { _, environment throws(LMDBError) in
      _ = try environment.withReadTransaction { transaction throws(LMDBError) in try transaction.all() }
    },
    FaultCase(.cursorGet, "next", first: 2) { _, environment throws(LMDBError) in
      _ = try environment.withReadTransaction { transaction throws(LMDBError) in try transaction.all() }
    },
    FaultCase(.cursorGet, "seek") { _, environment throws(LMDBError) in
      _ = try environment.withReadTransaction { transaction throws(LMDBError) in
        try transaction.withCursor { cursor throws(LMDBError) in try cursor.seek([1]) }
      }
    },
    FaultCase(.txnBegin, "beginWrite") { _, environment throws(LMDBError) in try environment.put([1], [1]) },
    FaultCase(.txnCommit, "commit") { _, environment throws(LMDBError) in try environment.put([9], [1]) },
    FaultCase(.envSync, "sync") { _, environment throws(LMDBError) in try environment.sync(force: true) },
    FaultCase(.envInfo, "info") { _, environment throws(LMDBError) in _ = try environment.info() },
    FaultCase(.envStat, "info") { _, environment throws(LMDBError) in _ = try environment.info() },
    FaultCase(.readerCheck, "checkReaders") { _, environment throws(LMDBError) in _ = try environment.checkReaders() },
    FaultCase(.envInfo, "growMap") { _, environment throws(LMDBError) in try environment.growMap(to: 1 << 30) },
    FaultCase(.envGetDescriptor, "growMap") { _, environment throws(LMDBError) in
      try environment.growMap(to: 1 << 30)
    },
    FaultCase(.txnBegin, "openDatabase") { _, environment throws(LMDBError) in
      _ = try environment.openDatabase(named: "one")
    },
    FaultCase(.dbiOpen, "openDatabase") { _, environment throws(LMDBError) in
      _ = try environment.openDatabase(named: "one")
    },
    FaultCase(.txnCommit, "openDatabase") { _, environment throws(LMDBError) in
      _ = try environment.openDatabase(named: "one")
    },
    .write(.put, "put") { transaction throws(LMDBError) in try transaction.put([9], [1]) },
    .write(.put, "the second put", first: 2) { transaction throws(LMDBError) in
      try transaction.put([9], [1])
      try transaction.put([9], [2])
    },
    .write(.cursorPut, "upsert of a new key") { transaction throws(LMDBError) in _ = try transaction.upsert([9], [7]) },
    .write(.cursorPut, "upsert over a key", first: 2) { transaction throws(LMDBError) in
      _ = try transaction.upsert([9], [1])
    },
    .write(.cursorOpen, "upsert", dooms: false) { transaction throws(LMDBError) in
      _ = try transaction.upsert([9], [1])
    },
    .write(.del, "remove") { transaction throws(LMDBError) in _ = try transaction.remove([1]) },
    .write(.drop, "removeAll") { transaction throws(LMDBError) in try transaction.removeAll() },
    .write(.get, "withValue in a write", dooms: false) { transaction throws(LMDBError) in
      _ = try transaction.value([1])
    },
    .write(.stat, "statistics in a write", dooms: false) { transaction throws(LMDBError) in
      _ = try transaction.statistics()
    },
    .cursor(.cursorGet, "last") { cursor throws(LMDBError) in _ = try cursor.last() },
    .cursor(.cursorGet, "previous") { cursor throws(LMDBError) in _ = try cursor.previous() },
    .cursor(.cursorGet, "current") { cursor throws(LMDBError) in _ = try cursor.current() },
    .cursor(.cursorDel, "cursor's remove", dooms: true) { cursor throws(LMDBError) in
      _ = try cursor.first()
      try cursor.remove()
    },
  ]
}
