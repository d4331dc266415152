import Synchronization

/// The changes of a cache from one moment on, from ``LMDBCache/changes(withPrefix:bufferingLimit:)``.
///
/// ```swift
/// for await change in cache.changes(withPrefix: "user:") { … }
/// ```
///
/// It ends when the cache is closed or released, which it does not keep alive, or when a waiting task is cancelled. The
/// observation ends with the last copy of this and its iterators. Iterators of one sequence share its changes: each
/// change goes to one of them.
public struct CacheChanges: AsyncSequence, Sendable {
  let observation: ChangeObservation

  public func makeAsyncIterator() -> Iterator { Iterator(observation: observation) }

  /// Returns the changes in turn.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    let observation: ChangeObservation

    /// The next change, or `nil` if the sequence has ended.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> CacheChange? {
      await observation.mailbox.next()
    }
  }
}

/// A change of a cache, reported by ``CacheChanges``.
///
/// A change does not carry the value: read the entry. Several pending changes of a key become one, the last.
public enum CacheChange: Sendable, Equatable {
  /// A value was stored under the key, new or replacing another.
  case set(key: String)
  /// The entry under the key was removed, or was missing when it was removed. Includes evictions and expirations by
  /// other processes.
  case removed(key: String)
  /// The entry was removed by this process to keep a limit of the disk tier.
  case evicted(key: String)
  /// The entry had expired, and was removed by this process. It was hidden since its expiry; the removal comes with the
  /// next trim, within ``DiskTier/autoTrimInterval``.
  case expired(key: String)
  /// Every entry whose key starts with the prefix was removed; the empty prefix means every entry.
  case removedAll(prefix: String)
  /// Changes were dropped: reread all entries that you observe.
  case missed

  /// The key, or `nil` for ``removedAll(prefix:)`` and ``missed``.
  public var key: String? {
    switch self {
    case .set(let key), .removed(let key), .evicted(let key), .expired(let key): key
    case .removedAll, .missed: nil
    }
  }
}

enum ChangeCause {
  case write
  case eviction
  case expiry

  func change(of key: String, exists: Bool) -> CacheChange {
    if exists { return .set(key: key) }
    return switch self {
    case .write: .removed(key: key)
    case .eviction: .evicted(key: key)
    case .expiry: .expired(key: key)
    }
  }
}

/// Held by the users of a ``CacheChanges``; the last release ends the observation.
final class ChangeObservation: Sendable {
  let mailbox: ChangeMailbox
  private let end: @Sendable () -> Void

  init(_ mailbox: ChangeMailbox, onEnd end: @escaping @Sendable () -> Void) {
    self.mailbox = mailbox
    self.end = end
  }

  deinit { end() }
}

extension LMDBCache {
  /// The changes, by any object or process, of entries whose keys start with `prefix`, byte for byte, from now on.
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
  /// A read after a change sees it, or something newer. A key may be reported twice. Changes by this process are
  /// reported before the call returns, others within 55 ms of their commit (see
  /// ``CacheConfiguration/Disk/groupCommitInterval``), by a scan of the entries in at most a tenth of the time.
  ///
  /// Beyond `bufferingLimit` changes or 1 MiB of keys, pending changes become ``CacheChange/missed``; so do changes of
  /// other processes if the prefix has more than 65,536 entries or 16 MiB of keys. An observer costs about 200 bytes
  /// for each entry. The sequence is empty for a closed cache.
  ///
  /// - Parameter bufferingLimit: 1 or more; less counts as 1.
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

/// The observations that end when their cache is closed.
final class ChangeObservers: Sendable {
  /// `nil` once closed.
  private let watches = Mutex<[ChangeWatch]?>([])

  func add(_ watch: ChangeWatch) -> Bool {
    watches.withLock { watches in
      watches?.append(watch)
      return watches != nil
    }
  }

  func remove(_ watch: ChangeWatch) { watches.withLock { $0?.removeAll { $0 === watch } } }

  func end(_ feed: ChangeFeed) {
    let ended = watches.withLock { watches in
      defer { watches = nil }
      return watches ?? []
    }
    for watch in ended {
      feed.remove(watch)
      watch.mailbox.end()
    }
  }
}

extension CacheChanges {
  package func taken() -> [CacheChange] {
    var changes: [CacheChange] = []
    while let change = observation.mailbox.take() { changes.append(change) }
    return changes
  }
}
