import Synchronization

/// Tells observers what this process changes. To be called when a read by anybody sees it.
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
  ///   - stamp: What was written before it is gone.
  ///   - lastStamp: The removal's own stamp is not greater.
  func noteRemoval(ofAll prefix: String, stamp: UInt64, lastStamp: UInt64) {
    guard isObserved else { return }
    feed.deliver { watches in
      watches.filter { $0.concerns(removalOf: prefix) }.flatMap {
        $0.noteRemoval(ofAll: prefix, stamp: stamp, clearStamp: prefix.isEmpty ? lastStamp : 0)
      }
    }
  }

  /// Threads that change one key at once come here in any order. So what is told is what there is now: whoever comes
  /// last tells the truth.
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

  /// The stamp of what a read finds under the key, or `nil` if it finds nothing.
  ///
  /// - Parameter stamp: What was written, for a value that is in memory only, or cannot be read.
  private func visibleStamp(_ key: CacheKey, written stamp: UInt64?) -> UInt64? {
    do throws(CacheError) {
      if let header = try reader.header(key)?.header { return header.isExpired(at: clock.now) ? nil : header.stamp }
    } catch {
      return stamp
    }
    return reader.isHidden(key) ? stamp : nil
  }
}
