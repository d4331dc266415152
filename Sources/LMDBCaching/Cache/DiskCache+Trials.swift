package import LMDB

// What the reliability trials look at.

extension DiskCache {
  /// The environment behind the cache.
  package var environment: Environment { store.environment }

  /// Runs `body` while this process commits nothing: the files are then as they would be if it were killed. It must not
  /// use the cache.
  package func betweenCommits<R: Sendable>(_ body: @escaping @Sendable () -> R) throws(CacheError) -> R {
    try checkOpen()
    return try store.onWriterThread { .success(body()) }
  }
}
