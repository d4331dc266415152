import CLMDB
// Users of this module need the files and locks of Platform with it.
@_exported public import Platform

/// Every call of liblmdb in this module.
///
/// Each passes the seam of ``FaultInjection``. A faked failure behaves as the real one: a call that always frees its
/// argument frees it, and every other call touches nothing. Functions that return a status leave it to their caller;
/// the others throw.
enum Calls {
  typealias Name = FaultInjection.Call

  /// The status of a call, or the one that a test asks for. One relaxed load when no test is on.
  @inline(__always)
  private static func status(
    _ name: Name, _ environment: @autoclosure () -> OpaquePointer?, _ call: () -> Int32
  ) -> Int32 {
    if FaultInjection.isOn, let status = FaultInjection.status(for: name, path: path(of: environment())) {
      return status
    }
    return call()
  }

  private static func check(_ name: Name, _ environment: OpaquePointer?, _ call: () -> Int32) throws(LMDBError) {
    try check(status(name, environment, call), name)
  }

  static func check(_ status: Int32, _ name: Name) throws(LMDBError) {
    if status != MDB_SUCCESS { throw LMDBError(status: status, operation: name) }
  }

  private static func opened(_ handle: OpaquePointer, _ environment: OpaquePointer?) {
    if FaultInjection.isOn { FaultInjection.opened(handle, path: path(of: environment)) }
  }

  @inline(__always)
  private static func ended(_ handle: OpaquePointer) {
    if FaultInjection.isOn { FaultInjection.ended(handle) }
  }

  /// The directory of an environment, whatever path `mdb_env_open` got.
  private static func path(of environment: OpaquePointer?) -> String? {
    guard let environment, let path = mdb_env_get_userctx(environment) else { return nil }
    return String(cString: path.assumingMemoryBound(to: CChar.self))
  }

  // MARK: - Environment

  static func createEnvironment(directory: String) throws(LMDBError) -> OpaquePointer {
    if FaultInjection.isOn, let status = FaultInjection.status(for: .envCreate, path: directory) {
      throw LMDBError(status: status, operation: .envCreate)
    }
    var created: OpaquePointer?
    try check(mdb_env_create(&created), .envCreate)
    guard let environment = created else { throw LMDBError(status: ENOMEM, operation: .envCreate) }
    // Freed by ``close(_:)``. If this allocation fails, no test rule applies; nothing else depends on it.
    _ = mdb_env_set_userctx(environment, strdup(directory))
    opened(environment, environment)
    return environment
  }

  static func setMaxReaders(_ environment: OpaquePointer, _ count: UInt32) throws(LMDBError) {
    try check(.envSetMaxReaders, environment) { mdb_env_set_maxreaders(environment, count) }
  }

  static func setMaxDatabases(_ environment: OpaquePointer, _ count: UInt32) throws(LMDBError) {
    try check(.envSetMaxDatabases, environment) { mdb_env_set_maxdbs(environment, count) }
  }

  static func setMapSize(_ environment: OpaquePointer, _ size: Int) throws(LMDBError) {
    try check(.envSetMapSize, environment) { mdb_env_set_mapsize(environment, size) }
  }

  /// - Parameter path: The path to the directory, passed to LMDB.
  static func open(_ environment: OpaquePointer, path: String, flags: UInt32) throws(LMDBError) {
    try check(.envOpen, environment) { mdb_env_open(environment, path, flags, 0o600) }
  }

  static func close(_ environment: OpaquePointer) {
    ended(environment)
    let path = mdb_env_get_userctx(environment)
    mdb_env_close(environment)
    free(path)
  }

  static func sync(_ environment: OpaquePointer, force: Bool) throws(LMDBError) {
    try check(.envSync, environment) { mdb_env_sync(environment, force ? 1 : 0) }
  }

  static func information(_ environment: OpaquePointer) throws(LMDBError) -> MDB_envinfo {
    var information = MDB_envinfo()
    try check(.envInfo, environment) { mdb_env_info(environment, &information) }
    return information
  }

  static func statistics(_ environment: OpaquePointer) throws(LMDBError) -> MDB_stat {
    var statistics = MDB_stat()
    try check(.envStat, environment) { mdb_env_stat(environment, &statistics) }
    return statistics
  }

  static func descriptor(_ environment: OpaquePointer) throws(LMDBError) -> Int32 {
    var descriptor: Int32 = -1
    try check(.envGetDescriptor, environment) { mdb_env_get_fd(environment, &descriptor) }
    return descriptor
  }

  static func maxKeySize(_ environment: OpaquePointer) -> Int32 { mdb_env_get_maxkeysize(environment) }

  /// Returns the number of freed slots.
  static func checkReaders(_ environment: OpaquePointer) throws(LMDBError) -> Int {
    var dead: Int32 = 0
    try check(.readerCheck, environment) { mdb_reader_check(environment, &dead) }
    return Int(dead)
  }

  static func listReaders(
    _ environment: OpaquePointer, _ line: @convention(c) (UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Int32,
    _ context: UnsafeMutableRawPointer
  ) throws(LMDBError) {
    try check(.readerList, environment) { min(0, mdb_reader_list(environment, line, context)) }
  }

  // MARK: - Transactions

  static func begin(_ environment: OpaquePointer, flags: Int32) throws(LMDBError) -> OpaquePointer {
    var begun: OpaquePointer?
    try check(.txnBegin, environment) { mdb_txn_begin(environment, nil, UInt32(flags), &begun) }
    guard let transaction = begun else { throw LMDBError(status: ENOMEM, operation: .txnBegin) }
    opened(transaction, environment)
    return transaction
  }

  @inline(__always)
  static func renew(_ transaction: OpaquePointer) -> Int32 {
    status(.txnRenew, mdb_txn_env(transaction)) { mdb_txn_renew(transaction) }
  }

  @inline(__always)
  static func reset(_ transaction: OpaquePointer) { mdb_txn_reset(transaction) }

  static func commit(_ transaction: OpaquePointer) throws(LMDBError) {
    let status = status(.txnCommit, mdb_txn_env(transaction)) { MDB_SUCCESS }
    if status != MDB_SUCCESS {
      // The real call also frees the transaction when it fails.
      abort(transaction)
      throw LMDBError(status: status, operation: .txnCommit)
    }
    ended(transaction)
    try check(mdb_txn_commit(transaction), .txnCommit)
  }

  static func abort(_ transaction: OpaquePointer) {
    ended(transaction)
    mdb_txn_abort(transaction)
  }

  @inline(__always)
  static func id(_ transaction: OpaquePointer) -> UInt64 {
    // Other processes may have written any number.
    UInt64(truncatingIfNeeded: mdb_txn_id(transaction))
  }

  static func environment(of transaction: OpaquePointer) -> OpaquePointer? { mdb_txn_env(transaction) }

  // MARK: - Databases

  static func openDatabase(_ transaction: OpaquePointer, name: String?, flags: Int32 = 0) throws(LMDBError) -> Database
  {
    var handle: UInt32 = 0
    try check(.dbiOpen, mdb_txn_env(transaction)) { mdb_dbi_open(transaction, name, UInt32(flags), &handle) }
    return Database(handle: handle)
  }

  static func statistics(_ transaction: OpaquePointer, _ database: Database) throws(LMDBError) -> MDB_stat {
    var statistics = MDB_stat()
    try check(.stat, mdb_txn_env(transaction)) { mdb_stat(transaction, database.handle, &statistics) }
    return statistics
  }

  static func drop(_ transaction: OpaquePointer, _ database: Database) -> Int32 {
    status(.drop, mdb_txn_env(transaction)) { mdb_drop(transaction, database.handle, 0) }
  }

  // MARK: - Records

  @inline(__always)
  static func get(
    _ transaction: OpaquePointer, _ database: Database, _ key: inout MDB_val, _ value: inout MDB_val
  ) -> Int32 {
    status(.get, mdb_txn_env(transaction)) { mdb_get(transaction, database.handle, &key, &value) }
  }

  static func put(
    _ transaction: OpaquePointer, _ database: Database, _ key: inout MDB_val, _ value: inout MDB_val
  ) -> Int32 {
    status(.put, mdb_txn_env(transaction)) { mdb_put(transaction, database.handle, &key, &value, 0) }
  }

  static func remove(_ transaction: OpaquePointer, _ database: Database, _ key: inout MDB_val) -> Int32 {
    status(.del, mdb_txn_env(transaction)) { mdb_del(transaction, database.handle, &key, nil) }
  }

  // MARK: - Cursors

  static func openCursor(_ transaction: OpaquePointer, _ database: Database) throws(LMDBError) -> OpaquePointer {
    let environment = mdb_txn_env(transaction)
    var made: OpaquePointer?
    try check(.cursorOpen, environment) { mdb_cursor_open(transaction, database.handle, &made) }
    guard let cursor = made else { throw LMDBError(status: ENOMEM, operation: .cursorOpen) }
    opened(cursor, environment)
    return cursor
  }

  static func closeCursor(_ cursor: OpaquePointer) {
    ended(cursor)
    mdb_cursor_close(cursor)
  }

  static func get(
    _ cursor: OpaquePointer, _ key: inout MDB_val, _ value: inout MDB_val, _ operation: MDB_cursor_op
  ) -> Int32 {
    status(.cursorGet, mdb_txn_env(mdb_cursor_txn(cursor))) { mdb_cursor_get(cursor, &key, &value, operation) }
  }

  static func put(_ cursor: OpaquePointer, _ key: inout MDB_val, _ value: inout MDB_val, flags: Int32) -> Int32 {
    status(.cursorPut, mdb_txn_env(mdb_cursor_txn(cursor))) { mdb_cursor_put(cursor, &key, &value, UInt32(flags)) }
  }

  static func remove(_ cursor: OpaquePointer) -> Int32 {
    status(.cursorDel, mdb_txn_env(mdb_cursor_txn(cursor))) { mdb_cursor_del(cursor, 0) }
  }
}

/// A key space of an environment: a handle that stays valid as long as the environment is open (`MDB_dbi`).
public struct Database: Sendable, Hashable {
  let handle: UInt32

  /// The unnamed database, which every environment has.
  ///
  /// Named databases keep their records in it, so an environment with named databases should store nothing else there.
  public static let main = Database(handle: 1)
}

extension MDB_val {
  /// Points at bytes that the caller keeps alive. LMDB never writes through a key's pointer, and through a value's only
  /// in a reserving put.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  @inline(__always)
  var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: mv_data, count: mv_size)
  }
}

extension FaultInjection.Call {
  package static let envCreate: Self = "mdb_env_create"
  package static let envSetMaxReaders: Self = "mdb_env_set_maxreaders"
  package static let envSetMaxDatabases: Self = "mdb_env_set_maxdbs"
  package static let envSetMapSize: Self = "mdb_env_set_mapsize"
  package static let envOpen: Self = "mdb_env_open"
  package static let envSync: Self = "mdb_env_sync"
  package static let envInfo: Self = "mdb_env_info"
  package static let envStat: Self = "mdb_env_stat"
  package static let envGetDescriptor: Self = "mdb_env_get_fd"
  package static let readerCheck: Self = "mdb_reader_check"
  package static let readerList: Self = "mdb_reader_list"
  package static let txnBegin: Self = "mdb_txn_begin"
  package static let txnRenew: Self = "mdb_txn_renew"
  package static let txnCommit: Self = "mdb_txn_commit"
  package static let dbiOpen: Self = "mdb_dbi_open"
  package static let stat: Self = "mdb_stat"
  package static let drop: Self = "mdb_drop"
  package static let get: Self = "mdb_get"
  package static let put: Self = "mdb_put"
  package static let del: Self = "mdb_del"
  package static let cursorOpen: Self = "mdb_cursor_open"
  package static let cursorGet: Self = "mdb_cursor_get"
  package static let cursorPut: Self = "mdb_cursor_put"
  package static let cursorDel: Self = "mdb_cursor_del"
}
