import CLMDB
@_exported public import Platform

/// Every call of liblmdb in this module. Statuses are not judged here.
///
/// Each call passes the seam of ``FaultInjection``. A faked failure behaves as the real one: a call that always frees
/// its argument frees it, and every other call touches nothing.
enum Calls {
  typealias Name = FaultInjection.Call

  /// The faked status for this call, if a test asks for one. One relaxed load when no test is on.
  @inline(__always)
  private static func fault(_ name: Name, _ environment: @autoclosure () -> OpaquePointer?) -> Int32? {
    guard FaultInjection.isOn else { return nil }
    return FaultInjection.status(for: name, path: path(of: environment()))
  }

  @inline(__always)
  private static func fault(_ name: Name, directory: String) -> Int32? {
    guard FaultInjection.isOn else { return nil }
    return FaultInjection.status(for: name, path: directory)
  }

  @inline(__always)
  private static func opened(_ handle: OpaquePointer?, _ environment: @autoclosure () -> OpaquePointer?) {
    guard FaultInjection.isOn, let handle else { return }
    FaultInjection.opened(handle, path: path(of: environment()))
  }

  @inline(__always)
  private static func ended(_ handle: OpaquePointer) {
    guard FaultInjection.isOn else { return }
    FaultInjection.ended(handle)
  }

  /// The directory of an environment, whatever path `mdb_env_open` got.
  private static func path(of environment: OpaquePointer?) -> String? {
    guard let environment, let path = mdb_env_get_userctx(environment) else { return nil }
    return String(cString: path.assumingMemoryBound(to: CChar.self))
  }

  // MARK: - Environment

  static func createEnvironment(_ environment: inout OpaquePointer?, directory: String) -> Int32 {
    if let status = fault(.envCreate, directory: directory) { return status }
    let status = mdb_env_create(&environment)
    // Freed by ``close(_:)``. If this allocation fails, no test rule applies; nothing else depends on it.
    if let environment { _ = mdb_env_set_userctx(environment, strdup(directory)) }
    if FaultInjection.isOn, let environment { FaultInjection.opened(environment, path: directory) }
    return status
  }

  static func setMaxReaders(_ environment: OpaquePointer, _ count: UInt32, directory: String) -> Int32 {
    if let status = fault(.envSetMaxReaders, directory: directory) { return status }
    return mdb_env_set_maxreaders(environment, count)
  }

  static func setMaxDatabases(_ environment: OpaquePointer, _ count: UInt32, directory: String) -> Int32 {
    if let status = fault(.envSetMaxDatabases, directory: directory) { return status }
    return mdb_env_set_maxdbs(environment, count)
  }

  static func setMapSize(_ environment: OpaquePointer, _ size: Int, directory: String) -> Int32 {
    if let status = fault(.envSetMapSize, directory: directory) { return status }
    return mdb_env_set_mapsize(environment, size)
  }

  /// - Parameter path: The path to the directory, passed to LMDB.
  static func open(
    _ environment: OpaquePointer, directory: String, path: String, flags: UInt32, mode: UInt32
  ) -> Int32 {
    if let status = fault(.envOpen, directory: directory) { return status }
    return mdb_env_open(environment, path, flags, mdb_mode_t(mode))
  }

  static func close(_ environment: OpaquePointer) {
    ended(environment)
    let path = mdb_env_get_userctx(environment)
    mdb_env_close(environment)
    free(path)
  }

  static func sync(_ environment: OpaquePointer, force: Bool) -> Int32 {
    if let status = fault(.envSync, environment) { return status }
    return mdb_env_sync(environment, force ? 1 : 0)
  }

  static func information(_ environment: OpaquePointer, _ information: inout MDB_envinfo) -> Int32 {
    if let status = fault(.envInfo, environment) { return status }
    return mdb_env_info(environment, &information)
  }

  static func statistics(_ environment: OpaquePointer, _ statistics: inout MDB_stat) -> Int32 {
    if let status = fault(.envStat, environment) { return status }
    return mdb_env_stat(environment, &statistics)
  }

  static func descriptor(_ environment: OpaquePointer, _ descriptor: inout Int32) -> Int32 {
    if let status = fault(.envGetDescriptor, environment) { return status }
    return mdb_env_get_fd(environment, &descriptor)
  }

  static func maxKeySize(_ environment: OpaquePointer) -> Int32 {
    mdb_env_get_maxkeysize(environment)
  }

  static func checkReaders(_ environment: OpaquePointer, _ dead: inout Int32) -> Int32 {
    if let status = fault(.readerCheck, environment) { return status }
    return mdb_reader_check(environment, &dead)
  }

  static func listReaders(
    _ environment: OpaquePointer, _ line: @convention(c) (UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Int32,
    _ context: UnsafeMutableRawPointer
  ) -> Int32 {
    if let status = fault(.readerList, environment) { return status }
    return mdb_reader_list(environment, line, context)
  }

  // MARK: - Transactions

  static func begin(_ environment: OpaquePointer, flags: UInt32, _ transaction: inout OpaquePointer?) -> Int32 {
    if let status = fault(.txnBegin, environment) { return status }
    let status = mdb_txn_begin(environment, nil, flags, &transaction)
    if status == MDB_SUCCESS { opened(transaction, environment) }
    return status
  }

  @inline(__always)
  static func renew(_ transaction: OpaquePointer) -> Int32 {
    if let status = fault(.txnRenew, mdb_txn_env(transaction)) { return status }
    return mdb_txn_renew(transaction)
  }

  @inline(__always)
  static func reset(_ transaction: OpaquePointer) {
    mdb_txn_reset(transaction)
  }

  static func commit(_ transaction: OpaquePointer) -> Int32 {
    if let status = fault(.txnCommit, mdb_txn_env(transaction)) {
      // The real call also frees the transaction when it fails.
      abort(transaction)
      return status
    }
    ended(transaction)
    return mdb_txn_commit(transaction)
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

  @inline(__always)
  static func environment(of transaction: OpaquePointer) -> OpaquePointer? {
    mdb_txn_env(transaction)
  }

  // MARK: - Databases

  static func openDatabase(
    _ transaction: OpaquePointer, name: String?, flags: UInt32, _ handle: inout UInt32
  ) -> Int32 {
    if let status = fault(.dbiOpen, mdb_txn_env(transaction)) { return status }
    return mdb_dbi_open(transaction, name, flags, &handle)
  }

  static func statistics(_ transaction: OpaquePointer, _ database: UInt32, _ statistics: inout MDB_stat) -> Int32 {
    if let status = fault(.stat, mdb_txn_env(transaction)) { return status }
    return mdb_stat(transaction, database, &statistics)
  }

  static func drop(_ transaction: OpaquePointer, _ database: UInt32) -> Int32 {
    if let status = fault(.drop, mdb_txn_env(transaction)) { return status }
    return mdb_drop(transaction, database, 0)
  }

  // MARK: - Records

  @inline(__always)
  static func get(
    _ transaction: OpaquePointer, _ database: UInt32, _ key: inout MDB_val, _ value: inout MDB_val
  ) -> Int32 {
    if let status = fault(.get, mdb_txn_env(transaction)) { return status }
    return mdb_get(transaction, database, &key, &value)
  }

  static func put(
    _ transaction: OpaquePointer, _ database: UInt32, _ key: inout MDB_val, _ value: inout MDB_val, flags: UInt32
  ) -> Int32 {
    if let status = fault(.put, mdb_txn_env(transaction)) { return status }
    return mdb_put(transaction, database, &key, &value, flags)
  }

  static func remove(_ transaction: OpaquePointer, _ database: UInt32, _ key: inout MDB_val) -> Int32 {
    if let status = fault(.del, mdb_txn_env(transaction)) { return status }
    return mdb_del(transaction, database, &key, nil)
  }

  // MARK: - Cursors

  static func openCursor(_ transaction: OpaquePointer, _ database: UInt32, _ cursor: inout OpaquePointer?) -> Int32 {
    if let status = fault(.cursorOpen, mdb_txn_env(transaction)) { return status }
    let status = mdb_cursor_open(transaction, database, &cursor)
    if status == MDB_SUCCESS { opened(cursor, mdb_txn_env(transaction)) }
    return status
  }

  static func closeCursor(_ cursor: OpaquePointer) {
    ended(cursor)
    mdb_cursor_close(cursor)
  }

  static func get(
    _ cursor: OpaquePointer, _ key: inout MDB_val, _ value: inout MDB_val, _ operation: MDB_cursor_op
  ) -> Int32 {
    if let status = fault(.cursorGet, mdb_txn_env(mdb_cursor_txn(cursor))) { return status }
    return mdb_cursor_get(cursor, &key, &value, operation)
  }

  static func put(_ cursor: OpaquePointer, _ key: inout MDB_val, _ value: inout MDB_val, flags: UInt32) -> Int32 {
    if let status = fault(.cursorPut, mdb_txn_env(mdb_cursor_txn(cursor))) { return status }
    return mdb_cursor_put(cursor, &key, &value, flags)
  }

  static func remove(_ cursor: OpaquePointer) -> Int32 {
    if let status = fault(.cursorDel, mdb_txn_env(mdb_cursor_txn(cursor))) { return status }
    return mdb_cursor_del(cursor, 0)
  }
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

// Users of this module need the files and locks of Platform with it.

extension FaultInjection.Call {
  package static let envCreate = Self(rawValue: "mdb_env_create")
  package static let envSetMaxReaders = Self(rawValue: "mdb_env_set_maxreaders")
  package static let envSetMaxDatabases = Self(rawValue: "mdb_env_set_maxdbs")
  package static let envSetMapSize = Self(rawValue: "mdb_env_set_mapsize")
  package static let envOpen = Self(rawValue: "mdb_env_open")
  package static let envSync = Self(rawValue: "mdb_env_sync")
  package static let envInfo = Self(rawValue: "mdb_env_info")
  package static let envStat = Self(rawValue: "mdb_env_stat")
  package static let envGetDescriptor = Self(rawValue: "mdb_env_get_fd")
  package static let readerCheck = Self(rawValue: "mdb_reader_check")
  package static let readerList = Self(rawValue: "mdb_reader_list")
  package static let txnBegin = Self(rawValue: "mdb_txn_begin")
  package static let txnRenew = Self(rawValue: "mdb_txn_renew")
  package static let txnCommit = Self(rawValue: "mdb_txn_commit")
  package static let dbiOpen = Self(rawValue: "mdb_dbi_open")
  package static let stat = Self(rawValue: "mdb_stat")
  package static let drop = Self(rawValue: "mdb_drop")
  package static let get = Self(rawValue: "mdb_get")
  package static let put = Self(rawValue: "mdb_put")
  package static let del = Self(rawValue: "mdb_del")
  package static let cursorOpen = Self(rawValue: "mdb_cursor_open")
  package static let cursorGet = Self(rawValue: "mdb_cursor_get")
  package static let cursorPut = Self(rawValue: "mdb_cursor_put")
  package static let cursorDel = Self(rawValue: "mdb_cursor_del")
}
