extension FaultInjection {
  /// The C functions that can be made to fail, by their names.
  package enum Call: String, CaseIterable, Sendable {
    case envCreate = "mdb_env_create"
    case envSetMaxReaders = "mdb_env_set_maxreaders"
    case envSetMaxDatabases = "mdb_env_set_maxdbs"
    case envSetMapSize = "mdb_env_set_mapsize"
    case envOpen = "mdb_env_open"
    case envSync = "mdb_env_sync"
    case envInfo = "mdb_env_info"
    case envStat = "mdb_env_stat"
    case envGetDescriptor = "mdb_env_get_fd"
    case readerCheck = "mdb_reader_check"
    case readerList = "mdb_reader_list"
    case txnBegin = "mdb_txn_begin"
    case txnRenew = "mdb_txn_renew"
    case txnCommit = "mdb_txn_commit"
    case dbiOpen = "mdb_dbi_open"
    case stat = "mdb_stat"
    case drop = "mdb_drop"
    case get = "mdb_get"
    case put = "mdb_put"
    case del = "mdb_del"
    case cursorOpen = "mdb_cursor_open"
    case cursorGet = "mdb_cursor_get"
    case cursorPut = "mdb_cursor_put"
    case cursorDel = "mdb_cursor_del"
  }
}
