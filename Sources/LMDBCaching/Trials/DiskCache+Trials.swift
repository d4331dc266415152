package import LMDB
import Synchronization

// What the trials of the cache's promises look at, and no caller needs.

extension DiskCache {
  /// The environment behind the cache.
  package var environment: Environment { store.environment }

  /// Runs `body` while this process commits nothing: the files are then as they would be if it were killed. It must not
  /// use the cache.
  package func betweenCommits<R: Sendable>(_ body: @escaping @Sendable () -> R) throws(CacheError) -> R {
    try checkOpen()
    return try store.writer.run { .success(body()) }
  }

  /// Whether every write so far is committed; if so it is at most one commit away from being safe from a power cut.
  package var isCommitted: Bool { !store.journal.hasPending.load(ordering: .acquiring) }

  /// Removes the value files that no entry refers to, however new they are. No write may be under way, in any process.
  package func sweepAllValueFiles() throws(CacheError) {
    try checkOpen()
    try store.writer.run { [store] in
      outcome { () throws(CacheError) in try store.fileKeeper.sweep(olderThan: -3_600) }
    }
  }
}

extension LMDBCache {
  /// Checks what has to hold in memory and in the journal between any two operations.
  package func _checkInvariants() {
    memoryCache._checkInvariants()
    diskCache._checkInvariants()
  }
}

extension DiskCache {
  /// Checks what has to hold in the journal between any two operations.
  package func _checkInvariants() {
    let journal = store.journal
    journal.lock.withLock { journal._checkInvariants() }
  }
}
