extension Environment {
  /// The durability of a commit: whether it survives a power cut.
  public enum SyncMode: Sendable, Equatable {
    /// Flushes data and meta page: a commit that returned survives a power cut.
    case full
    /// Flushes data, and the meta page with the next commit (`MDB_NOMETASYNC`): a power cut may undo the last commit,
    /// but the file stays consistent.
    case noMetaSync
    /// Flushes nothing (`MDB_NOSYNC`): a power cut or system crash may damage the file; a process crash does not.
    case noSync
  }
}
