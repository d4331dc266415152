import CLMDB

/// `mdb_get`: the value in the map, or `nil` if there is no such key.
///
/// Not generic and not inlined into clients, so that they need not see the C module; the generic part around it is.
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
