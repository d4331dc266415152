import CLMDB

/// `mdb_get`: the value in the map, or `nil` if the key is absent.
///
/// Not generic and not inlinable, so that clients need not see the C module; its generic callers are.
@usableFromInline
func lookUp(
  _ key: UnsafeRawBufferPointer, in database: Database, _ transaction: OpaquePointer
) throws(LMDBError) -> UnsafeRawBufferPointer? {
  var key = MDB_val(key)
  var value = MDB_val()
  let status = Calls.get(transaction, database.handle, &key, &value)
  if status == MDB_SUCCESS { return value.bytes }
  if status == MDB_NOTFOUND { return nil }
  throw LMDBError(status: status, operation: .get)
}

extension Statistics {
  /// `mdb_stat`.
  init(of database: Database, _ transaction: OpaquePointer) throws(LMDBError) {
    var statistics = MDB_stat()
    let status = Calls.statistics(transaction, database.handle, &statistics)
    guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .stat) }
    self.init(statistics)
  }
}
