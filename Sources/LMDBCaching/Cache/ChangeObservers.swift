import Synchronization

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
