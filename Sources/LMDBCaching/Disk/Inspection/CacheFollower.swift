import LMDB
import Platform

/// Tells what happens to the entries of a cache that it looks at, whichever process does it, and changes nothing: see
/// ``CacheReader``.
///
/// What is known is compared with what is there, whenever something was committed, waits in a journal, or has expired. So
/// what was changed several times in between is told once, as it is now; an entry that came and went is not told. Memory: a
/// key and a stamp of up to a number of entries. Where there are more, no more can be told than that something has changed.
///
/// One thread at a time.
package final class CacheFollower {
  /// What happened to an entry, or to many.
  package struct Event: Sendable {
    package let change: CacheChange
    /// What is there now; for ``CacheChange/set(key:)`` only.
    package let entry: CacheEntry?
  }

  /// How many records are looked at before what was found is told.
  private static let pageLength = 1_000

  private let reader: CacheReader
  private let clock: CacheClock
  private let prefix: String
  private let watch: ChangeWatch
  private let mailbox = ChangeMailbox(limit: 4 * pageLength)
  /// As of the last look; `nil`: there was none, or it has not come to its end.
  private var state: State?
  /// When the first of the entries expires, in nanoseconds since 1970.
  private var nextExpiry = Int64.max
  /// On the system's monotonic clock, before which nobody looks again.
  var nextLook = Int64.min

  /// What is different when there is something new.
  private struct State: Equatable {
    let position: CacheReader.Position
    let pendingWrites: Int
    let clearStamp: UInt64
  }

  /// What a look has met.
  private struct Met {
    let key: String
    let stamp: UInt64
    let expires: Int64
    /// Of what was not known.
    let entry: CacheEntry?
  }

  /// - Parameters:
  ///   - prefix: Of the keys that are watched.
  ///   - trackingLimit: How many entries are known one by one.
  package init(_ reader: CacheReader, prefix: String = "", trackingLimit: Int, clock: CacheClock = .system) {
    self.reader = reader
    self.clock = clock
    self.prefix = prefix
    watch = ChangeWatch(prefix: prefix, mailbox: mailbox, position: 0, limit: trackingLimit)
  }

  /// Calls `body` with what has happened since the call before. The first one finds out what is there, and tells nothing.
  ///
  /// It returns at once where nothing is new, and where the last look took so long that a pause is due: looking takes a
  /// tenth of the time.
  ///
  /// - Throws: as ``CacheReader/position()``, and what `body` throws. What was not told by then is told by the next call,
  ///   if it is so still.
  package func follow(_ body: (Event) throws -> Void) throws {
    let start = MonotonicClock.nanoseconds
    if start < nextLook { return }
    let now = try reader.followedState()
    let state = State(
      position: now.position, pendingWrites: now.pendingWrites, clearStamp: now.clearStamp)
    if state == self.state, clock.now < nextExpiry { return }
    self.state = nil
    defer {
      let end = MonotonicClock.nanoseconds
      nextLook = end.addingClamped((end - start) * 9)
    }
    // Of an error nothing is left half done: the next look begins anew.
    try look(clearStamp: state.clearStamp, body)
    // With few entries again, all are met once more before anything can be told of them.
    if !watch.isFirstScan { self.state = state }
  }

  private func look(clearStamp: UInt64, _ body: (Event) throws -> Void) throws {
    _ = watch.beginScan(clearStamp: clearStamp)
    try tell(nil, body)
    var first = Int64.max
    var place: EntryPlace?
    repeat {
      let isFirst = watch.isFirstScan
      let (met, next) = try reader.scan(prefix, after: place, limit: Self.pageLength, .live) {
        [watch] (found, met: inout [Met], bytes) throws(ReadingFailure) in
        let key = String(utf8: found.key)
        let stamp = found.header.stamp
        let isKnown = isFirst || watch.isKnown(key, stamp: stamp)
        met.append(
          Met(key: key, stamp: stamp, expires: found.header.expires, entry: isKnown ? nil : found.entry))
        bytes += found.key.count
      }
      for one in met {
        if one.expires != 0 { first = min(first, one.expires) }
        _ = watch.meet(one.key, stamp: one.stamp, pending: .unknown)
        try tell(one.entry, body)
      }
      place = next
    } while place != nil
    for key in watch.unmet.map(\.key).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      guard let cause = try reader.cause(ofAbsence: key) else { continue }
      // As removed, whatever the cause: that is told by this.
      _ = watch.noteRemoved(key)
      _ = mailbox.take()
      try body(Event(change: cause.change(of: key, exists: false), entry: nil))
    }
    _ = watch.endScan(position: 0)
    try tell(nil, body)
    nextExpiry = first
  }

  /// Tells what the watch has found to tell.
  private func tell(_ entry: CacheEntry?, _ body: (Event) throws -> Void) throws {
    while let change = mailbox.take() {
      if case .set(let key) = change {
        // After a removal of everything those are told once more that came after it.
        if let entry = try entry ?? reader.entry(forKey: key) { try body(Event(change: change, entry: entry)) }
      } else {
        try body(Event(change: change, entry: nil))
      }
    }
  }
}
