extension DiskCache {
  /// See ``LMDBCache/changes(withPrefix:bufferingLimit:)``.
  public func changes(withPrefix prefix: String = "", bufferingLimit: Int = 1_024) -> CacheChanges {
    changes(withPrefix: prefix, bufferingLimit: bufferingLimit, trackingLimit: 65_536)
  }

  /// - Parameters:
  ///   - isOfOneKey: Whether `prefix` is one key.
  ///   - trackingLimit: The maximum number of entries tracked one by one.
  func changes(
    withPrefix prefix: String, isOfOneKey: Bool = false, bufferingLimit: Int, trackingLimit: Int
  ) -> CacheChanges {
    let mailbox = ChangeMailbox(limit: bufferingLimit)
    do throws(CacheError) {
      try checkOpen()
    } catch {
      mailbox.end()
      return CacheChanges(observation: ChangeObservation(mailbox) {})
    }
    let feed = store.feed
    let watch = store.follower.observe(
      withPrefix: prefix, isOfOneKey: isOfOneKey, mailbox: mailbox, trackingLimit: trackingLimit)
    let observers = observers
    if !observers.add(watch) { mailbox.end() }
    return CacheChanges(
      observation: ChangeObservation(mailbox) {
        observers.remove(watch)
        feed.remove(watch)
      })
  }
}
