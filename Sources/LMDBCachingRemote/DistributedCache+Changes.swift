import Dispatch
import LMDBCaching
import Logging
import Platform
import Synchronization

// Called by the `ChangeFollower`, on its queue, one after the other.
extension DistributedCache {
  func apply(_ change: RemoteChange, revision: RemoteRevision) {
    following { () throws(CacheError) in
      switch change {
      case .key(let key):
        client.counts.withLock { $0.invalidations += 1 }
        try local.invalidate(key, below: revision.packed, news)
      case .prefix(let prefix):
        client.counts.withLock { $0.invalidations += 1 }
        try local.invalidateAll(withPrefix: prefix, below: revision.packed, news)
      case .none, .unknown: break
      }
    }
  }

  /// After a failure, every entry is compared with the server before it is served.
  func following(_ body: () throws(CacheError) -> Void) {
    do throws(CacheError) { try body() } catch {
      if error.code == .closed { return }
      local.log(.error, "a change of the fleet could not be followed", ["error": "\(error)"])
      didLoseTrack()
    }
  }

  func didLoseTrack() {
    // First: values stored after this are fetched after it, and others are older than the stamp.
    local.supersedeLoads(news)
    revalidation.begin(at: local.presentStamp)
    // After that: a sweep that is just ending looks whether there is more to check when it has opened the gate.
    gate.set(.checking, true)
    // After the gate: who sees the count has what it reads checked.
    client.counts.withLock { $0.gaps += 1 }
    sweep()
  }

  func didConnect() {
    // Values fetched over another connection may be another server's.
    local.supersedeLoads(news)
    client.endPauses()
    for sender in senders { sender.wake() }
  }

  func didChangeTouch(_ touch: ChangeTouch) {
    switch touch {
    case .heard:
      gate.set(.unheard, false)
      if isUnheardLogged.exchange(false, ordering: .relaxed) {
        local.log(.notice, "changes of the fleet are heard of again")
      }
      sweep()
    case .unheard(let start, let error):
      if let limit = configuration.servesUnheardFor?.clampedNanoseconds {
        gate.serveUnheard(until: start?.addingClamped(limit) ?? .min)
      }
      guard let error, !isUnheardLogged.exchange(true, ordering: .relaxed) else { return }
      local.log(
        error.code == .refused || error.code == .failed ? .error : .warning, "changes of the fleet are not heard of",
        ["error": "\(error)"])
    }
  }

  /// Compares every local entry with the server, in the background.
  func sweep() {
    if isClosed.load(ordering: .relaxed) { return }
    guard let floor = revalidation.beginSweep() else { return }
    sweeps.async { [weak self] in
      guard let self else { return }
      var isDone = true
      do {
        try local.forEachPage(pageSize: 256) { entries in
          if self.isClosed.load(ordering: .relaxed) {
            isDone = false
            return false
          }
          try self.check(entries.filter { $0.stamp <= floor }.map(\.key))
          return true
        }
      } catch {
        // The server is away, most likely: what is asked for is checked by itself.
        local.log(.debug, "local entries could not be held against the remote tier", ["error": "\(error)"])
        isDone = false
      }
      if revalidation.endSweep(floor, isDone: isDone) {
        gate.set(.checking, false)
        // Changes may have been missed meanwhile.
        if revalidation.isActive { gate.set(.checking, true) }
      } else {
        sweeps.asyncAfter(deadline: .now() + 1) { [weak self] in self?.sweep() }
      }
    }
  }

  private func check(_ keys: [String]) throws {
    let checks = try keys.compactMap(check)
    if checks.isEmpty { return }
    let replies: [RemoteReply]
    do {
      replies = try LoadCaller.wait { [client] in try await client.send(checks.map(\.command), .read, $0) }
    } catch let error as RemoteTierError where error.isOfAnotherType {
      if checks.count == 1 { return try remove(checks[0]) }
      for check in checks { try self.check([check.key]) }
      return
    }
    for (check, reply) in zip(checks, replies) where !isNewest(reply, check) { try remove(check) }
  }

  func remove(_ check: Check) throws(CacheError) {
    try local.invalidate(check.key, below: check.revision.addingClamped(1), news)
  }

  struct Check: Sendable {
    let key: String
    let command: RemoteCommand
    let revision: UInt64
    let floor: UInt64
  }

  /// How a key is checked; `nil` if it need not be.
  func check(_ key: String) throws -> Check? {
    guard gate.has(.checking), let found = try local.revision(forKey: key),
      let floor = revalidation.due(key, stamp: found.stamp)
    else { return nil }
    let command = RemoteCommand("GETRANGE", names.entry(key), 0, RemoteEntry.revisionLength - 1)
    return Check(key: key, command: command, revision: found.revision, floor: floor)
  }

  func isNewest(_ reply: RemoteReply, _ check: Check) -> Bool {
    RemoteEntry.revision(reply).map { $0.packed == check.revision } ?? false
  }
}

extension DistributedCache {
  func watch(_ item: WriteQueue.Item) -> KeyWatch? { item.isRemovalOfAll ? nil : local.watchWrite(item.key, news) }

  func didSend(_ writes: [(item: WriteQueue.Item, watch: KeyWatch?, revision: RemoteRevision?)]) {
    for revision in writes.compactMap(\.revision) { follower.note(revision) }
    for (item, watch, revision) in writes {
      following { () throws(CacheError) in try didSend(item, watch, revision) }
      if watch != nil { news.end(item.key) }
    }
  }

  private func didSend(_ item: WriteQueue.Item, _ watch: KeyWatch?, _ revision: RemoteRevision?) throws(CacheError) {
    guard let revision else {
      // It was made some time ago: there may be a newer one.
      local.supersedeLoads(news)
      return item.isRemovalOfAll ? try removeLocally(item.key) : try local.removeValue(forKey: item.key)
    }
    if item.isRemovalOfAll { return try local.invalidateAll(withPrefix: item.key, below: revision.packed, news) }
    if let entry = item.entry {
      if queue?.hasNewer(than: item) == true { return }
      if let watch, try store(entry, revision, watch) { return }
    }
    try local.invalidate(item.key, below: revision.packed, news)
  }

  /// Stores what the server has as of a revision that was made here.
  func store(_ entry: PortableEntry, _ revision: RemoteRevision, _ watch: KeyWatch) throws(CacheError) -> Bool {
    local.noteRevision(revision.packed, forKey: entry.key, news)
    return try local.keep(entry, revision: revision.packed, since: watch, news)
  }

  func didGiveUp(_ item: WriteQueue.Item, _ watch: KeyWatch?, _ error: RemoteTierError) {
    if watch != nil { news.end(item.key) }
    client.counts.withLock { $0.givenUpWrites += 1 }
    local.log(
      .error, "a write was refused by the remote tier, and is lost",
      ["key": "\(quoted(item.key))", "error": "\(error)"])
  }
}

/// The local entries to compare with the server after changes may have been missed: those stored before that moment,
/// when they are read, and all of them in the background.
final class Revalidation: Sendable {
  /// How many keys that were asked for are remembered, so that each is checked once.
  private static let limit = 10_000

  private struct State {
    var floor: UInt64 = 0
    var checked: Set<ByteKey> = []
    var isSweeping = false
  }

  private let state = Mutex(State())

  func begin(at stamp: UInt64) {
    state.withLock { state in
      state.floor = max(stamp, state.floor + 1)
      state.checked = []
    }
  }

  /// What ``noteChecked(_:floor:)`` is to be told if an entry is to be checked; `nil` if it is not.
  func due(_ key: String, stamp: UInt64) -> UInt64? {
    state.withLock { $0.floor >= stamp && !$0.checked.contains(ByteKey(key)) ? $0.floor : nil }
  }

  var isActive: Bool { state.withLock { $0.floor != 0 } }

  func noteChecked(_ key: String, floor: UInt64) {
    state.withLock { state in
      // What was asked before more was missed says nothing. Without room it is checked again.
      if state.floor == floor, state.checked.count < Self.limit { state.checked.insert(ByteKey(key)) }
    }
  }

  /// Returns the floor for ``endSweep(_:isDone:)``; `nil` during another sweep, or with nothing to check.
  func beginSweep() -> UInt64? {
    state.withLock { state in
      if state.isSweeping || state.floor == 0 { return nil }
      state.isSweeping = true
      return state.floor
    }
  }

  /// Returns whether nothing is left to check.
  func endSweep(_ floor: UInt64, isDone: Bool) -> Bool {
    state.withLock { state in
      state.isSweeping = false
      guard isDone, state.floor == floor else { return false }
      state = State()
      return true
    }
  }
}
