// Users of this module need the files and locks of Platform with it.
@_exported public import Platform

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
