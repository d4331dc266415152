extension LMDBCache {
  /// The changes of entries whose keys start with `prefix`, byte for byte, from this call's return on.
  ///
  /// ```swift
  /// for await change in cache.changes(withPrefix: "user:") {
  ///   switch change {
  ///   case .set(let key): print(try cache.value(User.self, forKey: key))
  ///   case .missed: reload()
  ///   default: break
  ///   }
  /// }
  /// ```
  ///
  /// **Content.** Writes, removals and trims through any object and by any process. A reader that has received a change
  /// sees it, or something newer. An entry written again before its change was received has one change, the last; a key
  /// may also be reported twice, and a removal of a missing entry too.
  ///
  /// **Timing.** A change by this process is reported before the call returns, except removals by tag, which are found
  /// like those of other processes. A change by another process is noticed within 55 ms of its commit (see
  /// ``CacheConfiguration/Disk/groupCommitInterval``). Then the entries under the prefix are scanned in the background,
  /// at half a microsecond each. The next scan waits for ten times that duration: with 60,000 entries and a busy
  /// writer, a third of a second.
  ///
  /// **Limits.** Up to `bufferingLimit` changes and 1 MiB of keys are buffered; beyond that they are replaced by
  /// ``CacheChange/missed``. So are changes of other processes if the prefix has more than 65,536 entries or 16 MiB of
  /// keys, and those at the moment when the observation begins.
  ///
  /// An observer costs about 200 bytes for each entry under its prefix, a tenth of a microsecond for each write of this
  /// process under it, and twenty checks a second.
  ///
  /// The sequence ends when the cache is closed or released, or the waiting task is cancelled. A closed cache gives an
  /// empty one.
  ///
  /// - Parameter bufferingLimit: 1 or more; less counts as 1.
  public func changes(withPrefix prefix: String = "", bufferingLimit: Int = 1_024) -> CacheChanges {
    diskCache.changes(withPrefix: prefix, bufferingLimit: bufferingLimit)
  }

  /// The value under `key` and then its later values; `nil` for a missing one.
  ///
  /// It follows the changes of ``changes(withPrefix:bufferingLimit:)``. The last value is never missed; earlier ones
  /// are skipped if the loop is slow. A value that is written while it is read may appear twice; an older value never
  /// follows a newer one. An expired value becomes `nil` within 10 ms, unless the system's clock is changed, or the
  /// value is only in memory because the disk fails.
  ///
  /// ```swift
  /// for try await user in cache.observe(User.self, forKey: "user:42") { print(user) }
  /// ```
  ///
  /// It costs an observer of changes, and a read for each value. The sequence ends when its task is cancelled or the
  /// cache is closed or released; it does not keep the cache alive.
  public func observe<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) -> CacheValues<V> {
    CacheValues(self, key: key)
  }
}
