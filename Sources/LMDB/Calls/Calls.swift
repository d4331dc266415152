import CLMDB
// Users of this module need the files and locks of Platform with it.
@_exported public import Platform

/// A handle of liblmdb. Every call of the library in this module is a method of one.
///
/// Each call passes the seam of ``FaultInjection``. A faked failure behaves as the real one: a call that always frees its
/// handle frees it, and every other call touches nothing. Functions that return a status leave it to their caller; the
/// others throw.
// The handles are @safe: no pointer leaves this file, and each has one owner, which ends it once, when nothing uses it any
// more. The functions that end one are marked unsafe, for their callers to show that.
protocol Handle {
  var environment: EnvironmentHandle { get }
  /// Identifies the handle while it exists.
  var address: UInt { get }
}

extension Handle {
  /// The status of a call, or the one that a test asks for. One relaxed load when no test is on.
  @inline(__always)
  fileprivate func status(_ name: @autoclosure () -> FaultInjection.Call, _ call: () -> Int32) -> Int32 {
    if FaultInjection.isOn, let status = FaultInjection.status(for: name(), path: environment.directory) {
      return status
    }
    return call()
  }

  @inline(__always)
  fileprivate func check(_ name: @autoclosure () -> FaultInjection.Call, _ call: () -> Int32) throws(LMDBError) {
    let status = status(name(), call)
    if status != MDB_SUCCESS { throw LMDBError(status: status, operation: name()) }
  }

  fileprivate func noteOpened() {
    if FaultInjection.isOn { FaultInjection.opened(address, path: environment.directory) }
  }

  @inline(__always)
  fileprivate func noteEnded() { if FaultInjection.isOn { FaultInjection.ended(address) } }
}

/// `MDB_env`
@safe struct EnvironmentHandle: Handle {
  fileprivate let pointer: OpaquePointer

  fileprivate init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

  /// Creates an environment, which ``close()`` frees.
  init(directory: String) throws(LMDBError) {
    if FaultInjection.isOn, let status = FaultInjection.status(for: .envCreate, path: directory) {
      throw LMDBError(status: status, operation: .envCreate)
    }
    var created: OpaquePointer?
    let status = unsafe mdb_env_create(&created)
    guard status == MDB_SUCCESS, let created = unsafe created else {
      throw LMDBError(status: status == MDB_SUCCESS ? ENOMEM : status, operation: .envCreate)
    }
    // If this allocation fails, no test rule applies; nothing else depends on it.
    unsafe mdb_env_set_userctx(created, strdup(directory))
    unsafe self.init(created)
    noteOpened()
  }

  var environment: EnvironmentHandle { self }
  var address: UInt { unsafe UInt(bitPattern: pointer) }

  /// The directory, whatever path `mdb_env_open` got.
  fileprivate var directory: String? {
    unsafe mdb_env_get_userctx(pointer).map { unsafe String(cString: $0.assumingMemoryBound(to: CChar.self)) }
  }

  func setMaxReaders(_ count: UInt32) throws(LMDBError) {
    try check(.envSetMaxReaders) { unsafe mdb_env_set_maxreaders(pointer, count) }
  }

  func setMaxDatabases(_ count: UInt32) throws(LMDBError) {
    try check(.envSetMaxDatabases) { unsafe mdb_env_set_maxdbs(pointer, count) }
  }

  func setMapSize(_ size: Int) throws(LMDBError) {
    try check(.envSetMapSize) { unsafe mdb_env_set_mapsize(pointer, size) }
  }

  /// - Parameter path: The path to the directory, passed to LMDB.
  func open(path: String, flags: UInt32) throws(LMDBError) {
    try check(.envOpen) { unsafe mdb_env_open(pointer, path, flags, 0o600) }
  }

  @unsafe func close() {
    noteEnded()
    let path = unsafe mdb_env_get_userctx(pointer)
    unsafe mdb_env_close(pointer)
    unsafe free(path)
  }

  func sync(force: Bool) throws(LMDBError) { try check(.envSync) { unsafe mdb_env_sync(pointer, force ? 1 : 0) } }

  func info() throws(LMDBError) -> Environment.Info {
    var info = unsafe MDB_envinfo()
    var statistics = MDB_stat()
    try check(.envInfo) { unsafe mdb_env_info(pointer, &info) }
    try check(.envStat) { unsafe mdb_env_stat(pointer, &statistics) }
    return unsafe Environment.Info(
      mapSize: info.me_mapsize, lastPageNumber: info.me_last_pgno,
      lastTransactionID: UInt64(truncatingIfNeeded: info.me_last_txnid), maxReaders: Int(info.me_maxreaders),
      readersInUse: Int(info.me_numreaders), main: Statistics(statistics))
  }

  func descriptor() throws(LMDBError) -> Int32 {
    var descriptor: Int32 = -1
    try check(.envGetDescriptor) { unsafe mdb_env_get_fd(pointer, &descriptor) }
    return descriptor
  }

  var maxKeySize: Int { unsafe Int(mdb_env_get_maxkeysize(pointer)) }

  /// Returns the number of freed slots.
  func checkReaders() throws(LMDBError) -> Int {
    var dead: Int32 = 0
    try check(.readerCheck) { unsafe mdb_reader_check(pointer, &dead) }
    return Int(dead)
  }

  /// LMDB's list of reader slots, as text.
  func readers() throws(LMDBError) -> String {
    final class Text { var text = "" }
    let list = Text()
    try check(.readerList) {
      let status = unsafe mdb_reader_list(
        pointer,
        { line, list in
          guard let line = unsafe line, let list = unsafe list else { return 0 }
          unsafe Unmanaged<Text>.fromOpaque(list).takeUnretainedValue().text += String(cString: line)
          return 0
        }, Unmanaged.passUnretained(list).toOpaque())
      return min(0, status)
    }
    return withExtendedLifetime(list) { list.text }
  }

  func begin(flags: Int32) throws(LMDBError) -> TransactionHandle {
    var begun: OpaquePointer?
    try check(.txnBegin) { unsafe mdb_txn_begin(pointer, nil, UInt32(flags), &begun) }
    guard let begun = unsafe begun else { throw LMDBError(status: ENOMEM, operation: .txnBegin) }
    let transaction = unsafe TransactionHandle(begun)
    transaction.noteOpened()
    return transaction
  }
}

/// `MDB_txn`
@usableFromInline
@safe struct TransactionHandle: Handle {
  fileprivate let pointer: OpaquePointer

  fileprivate init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

  var environment: EnvironmentHandle { unsafe EnvironmentHandle(mdb_txn_env(pointer)) }
  var address: UInt { unsafe UInt(bitPattern: pointer) }

  @inline(__always)
  func renew() -> Int32 { status(.txnRenew) { unsafe mdb_txn_renew(pointer) } }

  @inline(__always)
  func reset() { unsafe mdb_txn_reset(pointer) }

  @unsafe func commit() throws(LMDBError) {
    let status = status(.txnCommit) { MDB_SUCCESS }
    if status != MDB_SUCCESS {
      // The real call also frees the transaction when it fails.
      unsafe abort()
      throw LMDBError(status: status, operation: .txnCommit)
    }
    noteEnded()
    let result = unsafe mdb_txn_commit(pointer)
    if result != MDB_SUCCESS { throw LMDBError(status: result, operation: .txnCommit) }
  }

  @unsafe func abort() {
    noteEnded()
    unsafe mdb_txn_abort(pointer)
  }

  @inline(__always)
  var id: UInt64 {
    // Other processes may have written any number.
    unsafe UInt64(truncatingIfNeeded: mdb_txn_id(pointer))
  }

  // MARK: - Databases

  func openDatabase(name: String?, flags: Int32 = 0) throws(LMDBError) -> Database {
    var handle: UInt32 = 0
    try check(.dbiOpen) { unsafe mdb_dbi_open(pointer, name, UInt32(flags), &handle) }
    return Database(handle: handle)
  }

  func statistics(of database: Database) throws(LMDBError) -> Statistics {
    var statistics = MDB_stat()
    try check(.stat) { unsafe mdb_stat(pointer, database.handle, &statistics) }
    return Statistics(statistics)
  }

  func drop(_ database: Database) -> Int32 { status(.drop) { unsafe mdb_drop(pointer, database.handle, 0) } }

  // MARK: - Records

  /// The value in the map, or `nil` if the key is absent.
  // Not generic and not inlinable, so that clients need not see the C module; its generic callers are.
  @usableFromInline
  func get(_ key: UnsafeRawBufferPointer, in database: Database) throws(LMDBError) -> UnsafeRawBufferPointer? {
    var (key, value) = unsafe (MDB_val(key), MDB_val())
    let status = status(.get) { unsafe mdb_get(pointer, database.handle, &key, &value) }
    if status == MDB_SUCCESS { return unsafe value.bytes }
    if status == MDB_NOTFOUND { return nil }
    throw LMDBError(status: status, operation: .get)
  }

  func put(_ value: UnsafeRawBufferPointer, forKey key: UnsafeRawBufferPointer, in database: Database) -> Int32 {
    var (key, value) = unsafe (MDB_val(key), MDB_val(value))
    return status(.put) { unsafe mdb_put(pointer, database.handle, &key, &value, 0) }
  }

  func remove(_ key: UnsafeRawBufferPointer, in database: Database) -> Int32 {
    var key = unsafe MDB_val(key)
    return status(.del) { unsafe mdb_del(pointer, database.handle, &key, nil) }
  }

  func openCursor(_ database: Database) throws(LMDBError) -> CursorHandle {
    var made: OpaquePointer?
    try check(.cursorOpen) { unsafe mdb_cursor_open(pointer, database.handle, &made) }
    guard let made = unsafe made else { throw LMDBError(status: ENOMEM, operation: .cursorOpen) }
    let cursor = unsafe CursorHandle(made)
    cursor.noteOpened()
    return cursor
  }
}

/// `MDB_cursor`
@safe struct CursorHandle: Handle {
  private let pointer: OpaquePointer

  fileprivate init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

  var environment: EnvironmentHandle { unsafe EnvironmentHandle(mdb_txn_env(mdb_cursor_txn(pointer))) }
  var address: UInt { unsafe UInt(bitPattern: pointer) }

  @unsafe func close() {
    noteEnded()
    unsafe mdb_cursor_close(pointer)
  }

  func move(_ operation: MDB_cursor_op) throws(LMDBError) -> Cursor.Entry? { try unsafe move(operation, MDB_val()) }

  func seek(toKeyAtOrAfter key: UnsafeRawBufferPointer) throws(LMDBError) -> Cursor.Entry? {
    try unsafe move(MDB_SET_RANGE, MDB_val(key))
  }

  private func move(_ operation: MDB_cursor_op, _ key: MDB_val) throws(LMDBError) -> Cursor.Entry? {
    var (key, value) = unsafe (key, MDB_val())
    let status = status(.cursorGet) { unsafe mdb_cursor_get(pointer, &key, &value, operation) }
    if status == MDB_SUCCESS { return unsafe Cursor.Entry(key: key.bytes, value: value.bytes) }
    // LMDB returns EINVAL for "current" without a position.
    if status == MDB_NOTFOUND || (status == EINVAL && operation == MDB_GET_CURRENT) { return nil }
    throw LMDBError(status: status, operation: .cursorGet)
  }

  /// Stores a value of `size` bytes, or with `MDB_NOOVERWRITE` finds the present one, and returns its memory, if any.
  func put(
    _ key: UnsafeRawBufferPointer, size: Int, flags: Int32
  ) -> (status: Int32, value: UnsafeMutableRawBufferPointer) {
    var (key, value) = unsafe (MDB_val(key), MDB_val(mv_size: size, mv_data: nil))
    let status = status(.cursorPut) {
      unsafe mdb_cursor_put(pointer, &key, &value, UInt32(flags | MDB_RESERVE))
    }
    let count = unsafe value.mv_data == nil ? 0 : value.mv_size
    return unsafe (status, UnsafeMutableRawBufferPointer(start: value.mv_data, count: count))
  }

  func remove() -> Int32 { status(.cursorDel) { unsafe mdb_cursor_del(pointer, 0) } }
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
    unsafe self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  @inline(__always)
  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: mv_data, count: mv_size) }
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
