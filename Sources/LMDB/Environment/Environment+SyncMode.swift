extension Environment {
  /// What a commit waits for, and so what a power cut can take.
  public enum SyncMode: Sendable, Equatable {
    /// Data and meta page are flushed: a commit that returned survives a power cut.
    case full
    /// Data is flushed, the meta page with the next commit (`MDB_NOMETASYNC`): a power cut may undo the last commit,
    /// and the file stays consistent.
    case noMetaSync
    /// Nothing is flushed (`MDB_NOSYNC`): a power cut or a crash of the system may damage the file. A crash of the
    /// process does not.
    case noSync
  }
}
