extension LMDBCache {
  /// What happens to the entries whose keys start with `prefix`, byte for byte, from this call's return on.
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
  /// **What is told.** Writes, removals and trims by anybody: this object, others on the directory, ``diskCache``, other
  /// processes. Who reads a key after having been told of it sees what was told, or something newer. An entry that is
  /// written again before its change was taken has one change, the last; so a key may be told more than once too, and a
  /// removal also if there was nothing.
  ///
  /// **When.** What this process does is told before the call that does it returns, but for removals by tag, which are
  /// found like another process's changes. What another process does is told after it was committed
  /// (``CacheConfiguration/Disk/groupCommitInterval`` of that process, or at once if it waits for the commit) and noticed,
  /// within 55 ms; then the entries under the prefix are read through, in the background, which takes half a microsecond
  /// each. The next look comes no sooner than after ten times the time that took: with 60,000 entries under the prefix and
  /// a process that writes all the time, after a third of a second.
  ///
  /// **Limits.** At most `bufferingLimit` changes, and 1 MiB of keys, wait to be taken. When there are more they are
  /// dropped, and ``CacheChange/missed`` takes their place. Changes of other processes are told one by one for up to
  /// 65,536 entries, and 16 MiB of keys, under the prefix; where there are more, their changes are told as
  /// ``CacheChange/missed``. So are those that fall into the moment in which the observation begins.
  ///
  /// An observer costs about 200 bytes for each entry under its prefix, a tenth of a microsecond for each write of this
  /// process under it, and twenty looks a second. Without one there is no cost.
  ///
  /// The sequence ends when this object is closed or released, or the task that waits is cancelled; for a cache that is
  /// closed, it is empty.
  ///
  /// - Parameter bufferingLimit: 1 or more; less is taken for 1.
  public func changes(withPrefix prefix: String = "", bufferingLimit: Int = 1_024) -> CacheChanges {
    diskCache.changes(withPrefix: prefix, bufferingLimit: bufferingLimit)
  }

  /// The value under `key` and then, for as long as somebody asks, each that takes its place; `nil` where there is none.
  ///
  /// Writes, removals and trims by anybody count: this object, others on the directory, ``diskCache``, other processes, as
  /// ``changes(withPrefix:bufferingLimit:)`` tells them, and when it does. The last value is never missed; of those that
  /// nobody asked for in time only the last is given. One that is written while it is read may be given twice, and never is
  /// one given that is older than the one before. A value that expires is `nil` from its expiry on, which is told within
  /// 10 ms, unless the system's clock is set meanwhile, or the value is in memory alone, since the disk fails.
  ///
  /// ```swift
  /// for try await user in cache.observe(User.self, forKey: "user:42") { print(user) }
  /// ```
  ///
  /// It costs what an observer of changes costs, and a read for each value. The sequence ends when this object is closed
  /// or released, which it does not keep alive, or the task that waits is cancelled.
  public func observe<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) -> CacheValues<V> {
    CacheValues(self, key: key)
  }
}
