public import LMDBCaching

// A namespace is a stretch of the cache's keys: each of these is one operation on it.

extension LMDBStore {
  /// The entries of the namespace's keys and of nested namespaces', in byte order of their keys. Those that have
  /// expired are left out. A failure is reported, and there are none: ``Store/throwing(_:)`` tells them apart.
  public func entries<N: Namespace>(in namespace: N.Type) -> [CacheEntry] {
    attempt("listed", N.prefix) { () throws(CacheError) in try cache.entries(withPrefix: N.prefix) } ?? []
  }

  /// How many values are stored in the namespace and in nested ones; 0 where a failure is reported, as by
  /// ``entries(in:)``.
  public func count<N: Namespace>(in namespace: N.Type) -> Int { entries(in: namespace).count }

  /// Removes the values of the namespace and of nested ones. Hooks are not called.
  public func removeAll<N: Namespace>(in namespace: N.Type) {
    SettingLock.withLock {
      _ = attempt("removed", N.prefix) { () throws(CacheError) in
        if N.prefix.isEmpty { try cache.removeAll() } else { try cache.removeAll(withPrefix: N.prefix) }
      }
    }
  }

  /// What happens to the values of the namespace and of nested ones, here and in other processes: see
  /// `LMDBCache.changes(withPrefix:bufferingLimit:)`.
  public func changes<N: Namespace>(in namespace: N.Type, bufferingLimit: Int = 1_024) -> CacheChanges {
    cache.changes(withPrefix: N.prefix, bufferingLimit: bufferingLimit)
  }

  private func attempt<R>(_ activity: String, _ prefix: String, _ body: () throws(CacheError) -> R) -> R? {
    do throws(CacheError) {
      return try body()
    } catch {
      reporter.report(
        StorezFailure(
          .storage, key: prefix,
          "The values under \"\(prefix)\" could not be \(activity). Try it again when the cache works.",
          underlying: error))
      return nil
    }
  }
}
