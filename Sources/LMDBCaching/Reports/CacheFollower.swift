import Platform

/// Reports changes to a cache's entries by any process, read-only (``CacheReader``).
///
/// It compares known entries with present ones after each commit, journaled write or expiry, so several changes to an
/// entry are reported as one. Memory: a key and a stamp per entry, up to a limit; beyond it, only that something
/// changed is reported. Use it on one thread at a time.
package final class CacheFollower {
  package struct Event: Sendable {
    package let change: CacheChange
    /// The present entry; only for ``CacheChange/set(key:)``.
    package let entry: CacheEntry?
  }

  /// The number of records to examine before reporting.
  private static let pageLength = 1_000

  private let reader: CacheReader
  private let clock: CacheClock
  private let prefix: String
  private let watch: ChangeWatch
  private let mailbox = ChangeMailbox(limit: 4 * pageLength)
  /// At the last complete scan; `nil` without one.
  private var state: CacheReader.State?
  /// The first expiry of an entry, in nanoseconds since 1970.
  private var nextExpiry = Int64.max
  /// The monotonic time of the next permitted scan.
  var nextLook = Int64.min

  /// - Parameter trackingLimit: The maximum number of entries to track individually.
  package init(_ reader: CacheReader, prefix: String = "", trackingLimit: Int, clock: CacheClock = .system) {
    self.reader = reader
    self.clock = clock
    self.prefix = prefix
    watch = ChangeWatch(prefix: prefix, mailbox: mailbox, position: 0, limit: trackingLimit)
  }

  /// Calls `body` with the changes since the last call; the first call only collects the present entries.
  ///
  /// Returns at once without changes, or if the last scan was too recent: scans take at most a tenth of the time.
  ///
  /// - Throws: The errors of ``CacheReader/state()`` and `body`. Unreported changes are reported by the next call,
  ///   if they still apply.
  package func follow(_ body: (Event) throws -> Void) throws {
    let start = MonotonicClock.nanoseconds
    if start < nextLook { return }
    let state = try reader.state()
    if state == self.state, clock.now < nextExpiry { return }
    self.state = nil
    defer {
      let end = MonotonicClock.nanoseconds
      nextLook = end.addingClamped((end - start) * 9)
    }
    // After an error, the next scan starts over.
    try look(clearStamp: state.clearStamp, body)
    // If few entries remain, the next scan must collect them before it can report on them.
    if !watch.isFirstScan { self.state = state }
  }

  private func look(clearStamp: UInt64, _ body: (Event) throws -> Void) throws {
    _ = watch.beginScan(clearStamp: clearStamp)
    try tell(nil, body)
    var first = Int64.max
    var place: EntryPlace?
    repeat {
      let page = try reader.page(withPrefix: prefix, after: place, limit: Self.pageLength)
      for entry in page.entries {
        if entry.expires != 0 { first = min(first, entry.expires) }
        _ = watch.meet(entry.key, stamp: entry.version.stamp, pending: .unknown)
        try tell(entry, body)
      }
      place = page.next
    } while place != nil
    for key in watch.unmet.map(\.key).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      guard let cause = try reader.cause(ofAbsence: key) else { continue }
      // Record a removal, whatever the cause; the event below reports the cause.
      _ = watch.noteRemoved(key)
      _ = mailbox.take()
      try body(Event(change: cause.change(of: key, exists: false), entry: nil))
    }
    _ = watch.endScan(position: 0)
    try tell(nil, body)
    nextExpiry = first
  }

  private func tell(_ entry: CacheEntry?, _ body: (Event) throws -> Void) throws {
    while let change = mailbox.take() {
      if case .set(let key) = change {
        // A removal of everything repeats the entries that were set after it.
        let own = entry.flatMap { KeyIdentity.same($0.key, key) ? $0 : nil }
        if let entry = try own ?? reader.entry(forKey: key) { try body(Event(change: change, entry: entry)) }
      } else {
        try body(Event(change: change, entry: nil))
      }
    }
  }
}
