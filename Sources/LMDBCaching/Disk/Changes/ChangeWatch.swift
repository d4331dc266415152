import CXXHash

/// What one observer knows of the entries under its prefix, to tell what other processes changed.
///
/// It holds the stamps of up to a number of entries. Where there are more it holds a digest of all stamps, and can tell
/// no more than that something has changed.
// Sendable: everything that changes is touched with the lock of the feed held only.
final class ChangeWatch: @unchecked Sendable {
  /// Bytes of keys whose stamps are kept at most.
  static let maximumBytes = 16 << 20

  let prefix: String
  /// Whether it observes the key that is ``prefix``, and no longer one.
  let isOfOneKey: Bool
  let mailbox: ChangeMailbox

  enum Knowledge: Equatable {
    /// Nothing was read yet; while no other process commits, and this one removes nothing untold, nothing is missing.
    case nothing(since: UInt64)
    case stamps
    /// Of how many entries, and the sum of what is made of their keys and stamps, or `nil` if it is not known any more.
    case digest(UInt64?)
  }

  private(set) var knowledge: Knowledge
  private let limit: Int
  /// As of the beginning of the observation.
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
    /// The scan that met it last.
    var scan: UInt64
  }

  /// - Parameters:
  ///   - position: The newest transaction of another process when the observation began.
  ///   - untoldRemovals: See ``ChangeFeed/untoldRemovals``; as of when the observation began.
  ///   - limit: How many entries are known one by one at most.
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

  /// Whether a removal of all keys with `other` concerns any key of this one.
  func concerns(removalOf other: String) -> Bool {
    prefix.utf8.starts(with: other.utf8) || !isOfOneKey && other.utf8.starts(with: prefix.utf8)
  }

  // MARK: What this process changed

  /// - Parameter stamp: Of what is under the key now, or `nil` if there is nothing.
  func note(_ key: String, stamp: UInt64?, _ change: CacheChange) -> ChangeMailbox.Delivery? {
    if let stamp { know(key, stamp) } else { forget(key) }
    return mailbox.push(change)
  }

  /// - Parameters:
  ///   - stamp: What was written before it is gone.
  ///   - clearStamp: What the cache's own record says of the removal, if it was of every key.
  func noteRemoval(ofAll prefix: String, stamp: UInt64, clearStamp: UInt64) -> [ChangeMailbox.Delivery] {
    self.clearStamp = max(self.clearStamp, clearStamp)
    var deliveries = [mailbox.push(.removedAll(prefix: prefix))]
    // What was written after it may have been told before it.
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
      // A scan that is under way goes on, for the digest.
      if isFirstScan { scanIsTooLong = true } else { knowledge = .digest(nil) }
      stamps = [:]
      bytes = 0
    }
  }

  private func forget(_ key: String) {
    if stamps.removeValue(forKey: ByteKey(key)) != nil { bytes -= key.utf8.count }
  }

  // MARK: What a scan of the database finds

  /// Whether no scan has ended yet.
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

  /// Whether a scan that meets this would find nothing to tell.
  func isKnown(_ key: String, stamp: UInt64) -> Bool {
    if case .digest = knowledge { return true }
    return stamps[ByteKey(key)]?.stamp == stamp
  }

  /// - Parameter pending: What this process wrote under the key and has not committed yet.
  func meet(_ key: String, stamp: UInt64, pending: JournalSegment.Lookup) -> ChangeMailbox.Delivery? {
    entries += 1
    digest &+= withUTF8Bytes(of: key) { cxxhash_64($0.baseAddress, $0.count, stamp) }
    if case .digest = knowledge { return nil }
    let known = stamps[ByteKey(key)]?.stamp
    defer { stamps[ByteKey(key)]?.scan = scan }
    switch pending {
    case .removed: return nil
    case .found(let frame):
      if known == nil { know(key, frame.stamp) }
      return nil
    case .hidden(let hidden): if stamp <= hidden { return nil }
    case .unknown: break
    }
    if known == stamp { return nil }
    if isFirstScan {
      // What is known already was written since.
      if known == nil { know(key, stamp) }
      return nil
    }
    know(key, stamp)
    return mailbox.push(.set(key: key))
  }

  /// The keys that are known and were not met, with the stamps that are known: they may have been removed.
  var unmet: [(key: String, stamp: UInt64)] {
    stamps.filter { $0.value.scan != scan }.map { ($0.key.string, $0.value.stamp) }
  }

  /// Of an unmet key, unless that was told meanwhile.
  func noteRemoved(_ key: String) -> ChangeMailbox.Delivery? {
    guard let known = stamps[ByteKey(key)], known.scan != scan else { return nil }
    forget(key)
    return mailbox.push(.removed(key: key))
  }

  /// - Parameters:
  ///   - position: The newest transaction of another process now.
  ///   - untoldRemovals: How many there are now.
  func endScan(position: UInt64, untoldRemovals: UInt64 = 0) -> ChangeMailbox.Delivery? {
    switch knowledge {
    case .nothing(let since):
      knowledge = scanIsTooLong ? .digest(digest) : .stamps
      // What was met may be newer than the observation, or missing.
      return position == since && untoldRemovals == self.untoldRemovals ? nil : mailbox.push(.missed)
    case .stamps: return nil
    case .digest(let old):
      if old == digest { return nil }
      // With few entries again, each is to be known.
      knowledge = entries <= limit / 2 ? .nothing(since: .max) : .digest(digest)
      return mailbox.push(.missed)
    }
  }
}
