import Dispatch
import Foundation
import LMDBCaching
import Platform
import Synchronization

/// One load of a value that nobody here has: what is sent for it, and what the replies mean.
struct FleetLoad: Sendable {
  private let cache: DistributedCache
  private let key: String
  private let token = Data(UUID().uuidString.utf8)
  /// Of the entry that is here, and is loaded anew; 0: there is none.
  private let localRevision: UInt64
  private(set) var turn: LoadTurn
  /// Whether it was told that what the server has cannot be read: it is looked at again and again.
  private var isUnreadableNoted = false

  /// - Parameter isAnew: Whether an entry that is here is loaded anew: the same one of the server does not count then.
  init(_ key: String, _ cache: DistributedCache, isAnew: Bool) throws(CacheError) {
    self.cache = cache
    self.key = key
    localRevision = isAnew ? try cache.local.revision(forKey: key)?.revision ?? 0 : 0
    turn = LoadTurn(
      now: MonotonicClock.nanoseconds, limit: cache.configuration.loadWaitLimit.clampedNanoseconds)
  }

  // MARK: Asking

  var look: RemoteCommand { RemoteCommand("GET", cache.names.entry(key)) }

  var takeLease: RemoteCommand {
    RemoteCommand(
      "SET", cache.names.lease(key), token, "NX", "PX", cache.configuration.leaseDuration.wholeMilliseconds)
  }

  /// The value that the server has, unless it is the one that is to be loaded anew.
  mutating func didLook<V: Codable & Sendable>(
    _ type: V.Type, _ reply: RemoteReply, _ context: inout LoadContext
  ) -> V? {
    if let value = value(type, reply, &context) { return value }
    turn.didLook()
    return nil
  }

  mutating func didAsk<V: Codable & Sendable>(
    _ type: V.Type, _ lease: Result<RemoteReply, RemoteTierError>, _ reply: RemoteReply, _ context: inout LoadContext
  ) -> V? {
    guard case .success(let lease) = lease else {
      if let value = value(type, reply, &context) { return value }
      turn.didFail()
      return nil
    }
    let hasLease = if case .bytes = lease { true } else { false }
    if let value = value(type, reply, &context) {
      if hasLease { release() }
      return value
    }
    turn.didAsk(hasLease: hasLease, now: MonotonicClock.nanoseconds)
    return nil
  }

  mutating func didPause() { turn.didPause() }

  mutating func didFailToLook() { turn.didFail() }

  /// Whether the lease was taken is not known: the server may have got the request all the same.
  mutating func didFailToAsk() {
    releaseLater()
    turn.didFail()
  }

  /// What has expired, or cannot be read as such a value, is loaded anew.
  private mutating func value<V: Codable & Sendable>(
    _ type: V.Type, _ reply: RemoteReply, _ context: inout LoadContext
  ) -> V? {
    do {
      guard let found = try cache.readEntry(reply, key), localRevision == 0 || found.revision.packed != localRevision
      else { return nil }
      var entry = found.entry
      guard let value = try cache.local.value(type, of: &entry) else { return nil }
      cache.client.counters.hits.add(1, ordering: .relaxed)
      cache.follower.note(found.revision)
      context.inherit(entry, revision: found.revision.packed)
      return value
    } catch {
      if !isUnreadableNoted {
        isUnreadableNoted = true
        cache.noteUnreadable(key, error)
      }
      return nil
    }
  }

  // MARK: The end

  func didLoad() { cache.client.counters.loads.add(1, ordering: .relaxed) }

  /// What makes a loaded value the fleet's. `nil` for what is not to be stored, or cannot be: the lease is given back.
  func publication<V: Codable & Sendable>(of value: V, _ context: LoadContext, expires: Int64) -> RemoteCommand? {
    guard context.isStored else {
      release()
      return nil
    }
    let entry: PortableEntry
    do throws(CacheError) {
      entry = try cache.local.archive(value, forKey: key, expires: expires, cost: context.cost, tags: context.tags)
    } catch {
      // It is stored here by the same path, which tells of the failure.
      release()
      return nil
    }
    guard let (record, life) = entry.liveRecord(at: cache.local.now) else {
      release()
      return nil
    }
    return RemoteScript.publish.command(
      keys: [cache.names.entry(key), cache.names.changes, cache.names.lease(key)], key,
      cache.configuration.rememberedChanges, token, record, life ?? 0)
  }

  func didPublish(_ reply: RemoteReply, expires: Int64, _ context: inout LoadContext) {
    guard let revision = RemoteEntry.revision(ofScript: reply) else {
      // Somebody has written the key since the lease was taken, or it took too long.
      context.isStored = false
      return
    }
    cache.follower.note(revision)
    context.noteRevision(revision.packed, expires: expires)
  }

  /// The value is this machine's until the server says otherwise.
  func didFailToPublish() { releaseLater() }

  // MARK: The lease

  /// Gives the turn away.
  func release() {
    let lease = lease
    cache.client.send([lease.release], .write) { result in
      if case .failure = result { lease.releaseLater() }
    }
  }

  private func releaseLater() { lease.releaseLater() }

  private var lease: Lease {
    Lease(
      client: cache.client, work: cache.work,
      release: RemoteScript.release.command(keys: [cache.names.lease(key)], token),
      duration: cache.configuration.leaseDuration.clampedNanoseconds)
  }
}

/// A lease that may have been taken.
private struct Lease: Sendable {
  private static let firstPause: Int64 = 20_000_000
  private static let longestPause: Int64 = 5_000_000_000

  let client: RemoteClient
  let work: DispatchQueue
  let release: RemoteCommand
  /// In nanoseconds.
  let duration: Int64

  /// Gives it back, also if it was not taken yet: what was sent before can arrive after this. Until it was there, or
  /// has ended by itself.
  func releaseLater() {
    releaseLater(after: Self.firstPause, until: MonotonicClock.nanoseconds.addingClamped(duration))
  }

  private func releaseLater(after pause: Int64, until end: Int64) {
    work.asyncAfter(deadline: .now() + .nanoseconds(Int(pause))) {
      if MonotonicClock.nanoseconds > end { return }
      client.send([release], .write) { result in
        switch result {
        case .success(let replies) where replies[0] == .integer(1): return
        case .failure(let error) where error.code == .closed: return
        default: releaseLater(after: min(pause * 4, Self.longestPause), until: end)
        }
      }
    }
  }
}
