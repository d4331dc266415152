/// One observer's knowledge of the entries under its prefix, to detect other processes' changes: their stamps up to a
/// limit, and beyond it a digest, which only shows that something changed.
// Sendable: mutable state is only accessed with the feed's lock held.
final class ChangeWatch: @unchecked Sendable {
  /// The maximum total size of the keys whose stamps are kept.
  static let maximumBytes = 16 << 20

  let prefix: String
  /// Whether it observes only the key equal to ``prefix``.
  let isOfOneKey: Bool
  let mailbox: ChangeMailbox

  enum Knowledge: Equatable {
    /// No scan has ended. Complete while no other process commits and this one reports every removal.
    case nothing(since: UInt64)
    case stamps
    /// The sum of the hashes of keys and stamps, or `nil` if it is unknown.
    case digest(UInt64?)
  }

  private(set) var knowledge: Knowledge
  private let limit: Int
  /// At the beginning of the observation.
  private let untoldRemovals: UInt64
  private var stamps: [ByteKey: Known] = [:]
  private var bytes = 0
  private var clearStamp: UInt64 = 0
  private var scan: UInt64 = 0
  private var digest: UInt64 = 0
  private var entries = 0
  private var scanIsTooLong = false

  private struct Known {
    var stamp: UInt64
    /// The last scan that met it.
    var scan: UInt64
  }

  /// - Parameters:
  ///   - position: Another process's newest transaction when the observation began.
  ///   - untoldRemovals: ``ChangeFeed/untoldRemovals`` when the observation began.
  ///   - limit: The maximum number of entries to track individually.
  init(
    prefix: String, isOfOneKey: Bool = false, mailbox: ChangeMailbox, position: UInt64, untoldRemovals: UInt64 = 0,
    limit: Int
  ) {
    self.prefix = prefix
    self.isOfOneKey = isOfOneKey
    self.mailbox = mailbox
    self.limit = limit
    self.untoldRemovals = untoldRemovals
    knowledge = .nothing(since: position)
  }

  func concerns(_ key: String) -> Bool {
    isOfOneKey ? ByteKey(key) == ByteKey(prefix) : key.utf8.starts(with: prefix.utf8)
  }

  func concerns(removalOf other: String) -> Bool {
    prefix.utf8.starts(with: other.utf8) || !isOfOneKey && other.utf8.starts(with: prefix.utf8)
  }

  // MARK: What this process changed

  /// - Parameter stamp: The stamp of the present entry, or `nil` without one.
  func note(_ key: String, stamp: UInt64?, _ change: CacheChange) -> ChangeMailbox.Delivery? {
    if let stamp { know(key, stamp) } else { forget(key) }
    return mailbox.push(change)
  }

  /// - Parameters:
  ///   - stamp: Removes entries written before it.
  ///   - clearStamp: The stamp in the cache's metadata, if every key was removed.
  func noteRemoval(ofAll prefix: String, stamp: UInt64, clearStamp: UInt64) -> [ChangeMailbox.Delivery] {
    self.clearStamp = max(self.clearStamp, clearStamp)
    var deliveries = [mailbox.push(.removedAll(prefix: prefix))]
    // Later writes may have been reported before this removal.
    for (key, known) in stamps where key.string.utf8.starts(with: prefix.utf8) {
      if known.stamp > stamp {
        deliveries.append(mailbox.push(.set(key: key.string)))
      } else {
        forget(key.string)
      }
    }
    if case .digest = knowledge { deliveries.append(mailbox.push(.missed)) }
    return deliveries.compactMap(\.self)
  }

  private func know(_ key: String, _ stamp: UInt64) {
    switch knowledge {
    case .digest: return
    case .nothing: if scanIsTooLong { return }
    case .stamps: break
    }
    if stamps.updateValue(Known(stamp: stamp, scan: scan), forKey: ByteKey(key)) == nil { bytes += key.utf8.count }
    if stamps.count > limit || bytes > Self.maximumBytes {
      // The scan continues, for the digest.
      if isFirstScan { scanIsTooLong = true } else { knowledge = .digest(nil) }
      stamps = [:]
      bytes = 0
    }
  }

  private func forget(_ key: String) {
    if stamps.removeValue(forKey: ByteKey(key)) != nil { bytes -= key.utf8.count }
  }

  // MARK: What a scan of the database finds

  var isFirstScan: Bool { if case .nothing = knowledge { true } else { false } }

  func beginScan(clearStamp: UInt64) -> [ChangeMailbox.Delivery] {
    scan += 1
    digest = 0
    entries = 0
    scanIsTooLong = false
    if clearStamp <= self.clearStamp { return [] }
    if isFirstScan {
      self.clearStamp = clearStamp
      return []
    }
    return noteRemoval(ofAll: "", stamp: clearStamp, clearStamp: clearStamp)
  }

  /// - Parameter pending: This process's uncommitted write under the key.
  func meet(_ key: String, stamp: UInt64, pending: JournalSegment.Lookup) -> ChangeMailbox.Delivery? {
    entries += 1
    digest &+= withUTF8Bytes(of: key) { $0.hash(seed: stamp) }
    if case .digest = knowledge { return nil }
    let known = stamps[ByteKey(key)]?.stamp
    defer { stamps[ByteKey(key)]?.scan = scan }
    switch pending {
    case .removed: return nil
    case .found(let frame):
      if known == nil { know(key, frame.stamp) }
      return nil
    case .unknown: break
    }
    if known == stamp { return nil }
    if isFirstScan {
      // An entry already known was written later.
      if known == nil { know(key, stamp) }
      return nil
    }
    know(key, stamp)
    return mailbox.push(.set(key: key))
  }

  /// The known keys that the scan did not meet, which may have been removed.
  var unmet: [(key: String, stamp: UInt64)] {
    stamps.filter { $0.value.scan != scan }.map { ($0.key.string, $0.value.stamp) }
  }

  /// Reports the removal of an unmet key, unless it was reported in between.
  func noteRemoved(_ key: String) -> ChangeMailbox.Delivery? {
    guard let known = stamps[ByteKey(key)], known.scan != scan else { return nil }
    forget(key)
    return mailbox.push(.removed(key: key))
  }

  /// - Parameters:
  ///   - position: Another process's newest transaction now.
  ///   - untoldRemovals: The number now.
  func endScan(position: UInt64, untoldRemovals: UInt64 = 0) -> ChangeMailbox.Delivery? {
    switch knowledge {
    case .nothing(let since):
      knowledge = scanIsTooLong ? .digest(digest) : .stamps
      // Entries may be missing, or newer than the start of the observation.
      return position == since && untoldRemovals == self.untoldRemovals ? nil : mailbox.push(.missed)
    case .stamps: return nil
    case .digest(let old):
      if old == digest { return nil }
      // If few entries remain, track them individually again.
      knowledge = entries <= limit / 2 ? .nothing(since: .max) : .digest(digest)
      return mailbox.push(.missed)
    }
  }
}
