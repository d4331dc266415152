import Synchronization

/// Reports this process's changes to observers. Call it once every read sees the change.
final class ChangeTeller: Sendable {
  let feed: ChangeFeed
  private let reader: RecordReader
  private let clock: CacheClock

  init(_ feed: ChangeFeed, _ reader: RecordReader) {
    self.feed = feed
    self.reader = reader
    clock = reader.journal.clock
  }

  var isObserved: Bool { feed.isObserved.load(ordering: .relaxed) }

  @inline(__always)
  func noteChange(_ key: CacheKey, _ stamp: UInt64) {
    if isObserved { note(key, stamp, .write) }
  }

  func noteRemoval(_ key: String, _ stamp: UInt64, _ cause: ChangeCause) {
    if isObserved { CacheKey.with(key) { note($0, stamp, cause) } }
  }

  /// - Parameters:
  ///   - stamp: Removes entries written before it.
  ///   - lastStamp: An upper bound of the removal's own stamp.
  func noteRemoval(ofAll prefix: String, stamp: UInt64, lastStamp: UInt64) {
    guard isObserved else { return }
    feed.deliver { watches in
      watches.filter { $0.concerns(removalOf: prefix) }.flatMap {
        $0.noteRemoval(ofAll: prefix, stamp: stamp, clearStamp: prefix.isEmpty ? lastStamp : 0)
      }
    }
  }

  /// Threads that change one key arrive in any order. Each reports the present state, so the last one is right.
  @inline(never)
  private func note(_ key: CacheKey, _ stamp: UInt64, _ cause: ChangeCause) {
    feed.deliver { watches in
      var current: UInt64??
      return watches.compactMap { watch in
        guard watch.concerns(key.string) else { return nil }
        let found = current ?? visibleStamp(key, written: cause == .write ? stamp : nil)
        current = .some(found)
        return watch.note(key.string, stamp: found, cause.change(of: key.string, exists: found != nil))
      }
    }
  }

  /// The stamp that a read finds under the key, or `nil` without an entry.
  ///
  /// - Parameter stamp: The written stamp, for a value that is only in memory or cannot be read.
  private func visibleStamp(_ key: CacheKey, written stamp: UInt64?) -> UInt64? {
    do throws(CacheError) {
      if let header = try reader.header(key)?.header { return header.isExpired(at: clock.now) ? nil : header.stamp }
    } catch {
      return stamp
    }
    return reader.isHidden(key) ? stamp : nil
  }
}
