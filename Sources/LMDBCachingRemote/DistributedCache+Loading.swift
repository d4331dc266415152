import Dispatch
import Foundation
public import LMDBCaching
import Platform
import Synchronization

extension DistributedCache {
  /// Returns the value under `key`, or the result of `load`, which is stored for the whole fleet.
  ///
  /// One task of the fleet loads a key: machines take turns with a lease on the server
  /// (``DistributedCacheConfiguration/leaseDuration``), and each behaves as `LMDBCache.value(_:forKey:options:load:)`,
  /// which it also throws as. A write or removal of the key anywhere takes the lease away: the loaded value is
  /// returned, and not stored. While the server does not answer, each machine loads and stores for itself.
  @_disfavoredOverload @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) throws -> V
  ) throws -> V {
    if servesAll, let value = try local.valueInMemory(type, forKey: key) { return value }
    return try LoadCaller.wait { try await self.loadedValue(type, key, options, $0, load) }
  }

  /// Returns the value under `key`, or the result of `load`, without blocking a thread.
  @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    if servesAll, let value = try local.valueInMemory(type, forKey: key) { return value }
    return try await loadedValue(type, key, options, LoadCaller(), load)
  }

  @usableFromInline
  func loadedValue<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions?, _ caller: LoadCaller,
    _ load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    var isStored = true
    if !servesAll {
      switch try await standing(key, caller) {
      case .local, .absent, .removed: break
      case .unservable, .expired: isStored = false
      case .waiting(var entry):
        do throws(CacheError) {
          if let value = try local.value(type, of: &entry) { return value }
        } catch {
          // What is of another type is loaded, as from any tier.
          guard error.isOfOneEntry else { throw error }
        }
        isStored = false
      }
    }
    return try await local.value(type, forKey: key, options: options, caller, isStored: isStored) {
      [self, isStored] context in
      try await fetchOrLoad(type, &context, options, caller, isAnew: isStored, load)
    }
  }

  /// Returns the value that another machine has, or the one that this one loads and publishes in its turn.
  private func fetchOrLoad<V: Codable & Sendable>(
    _ type: V.Type, _ context: inout LoadContext, _ options: LoadOptions?, _ caller: LoadCaller, isAnew: Bool,
    _ load: (inout LoadContext) async throws -> V
  ) async throws -> V {
    var turn = try FleetLoad(context.key, self, caller, isAnew: isAnew)
    // The server's value is older than a waiting write.
    let isQueued = queue?.find(context.key) != nil
    if !isQueued, let found = try await turn.wait(type, &context) { return found }
    let value: V
    do { value = try await load(&context) } catch {
      turn.end()
      throw error
    }
    client.counts.withLock { $0.loads += 1 }
    await turn.publish(value, &context, expires: local.expiry(of: context, options))
    return value
  }
}

/// One load: one machine takes the lease of the key and loads; the others look again after growing pauses.
private struct FleetLoad: Sendable {
  private static let firstPause: Int64 = 2_000_000
  private static let longestPause: Int64 = 50_000_000

  private let cache: DistributedCache
  private let caller: LoadCaller
  private let key: String
  private let lease: Lease
  /// The revision of a local entry that is reloaded, which the server's must differ from; or 0.
  private let localRevision: UInt64
  private var hasLease = false
  private var isUnreadableNoted = false

  init(_ key: String, _ cache: DistributedCache, _ caller: LoadCaller, isAnew: Bool) throws(CacheError) {
    self.cache = cache
    self.caller = caller
    self.key = key
    lease = Lease(cache.names.lease(key), cache)
    localRevision = isAnew ? try cache.local.revision(forKey: key)?.revision ?? 0 : 0
  }

  /// Returns the value of the fleet, or `nil` when this machine has to load it.
  mutating func wait<V: Codable & Sendable>(_ type: V.Type, _ context: inout LoadContext) async throws -> V? {
    let look = RemoteCommand("GET", cache.names.entry(key))
    do throws(RemoteTierError) {
      let replies = try await cache.client.send([look], .read, caller)
      if let value = value(type, replies[0], &context) { return value }
    } catch {
      return nil
    }
    let limit = MonotonicClock.nanoseconds.addingClamped(cache.configuration.loadWaitLimit.clampedNanoseconds)
    var pause = Self.firstPause
    while true {
      // The lease before the value: what its last owner stored is found.
      let answer: (write: Result<RemoteReply, RemoteTierError>, read: RemoteReply)
      do throws(RemoteTierError) {
        answer = try await cache.client.send(self.lease.take, thenRead: look, caller)
      } catch {
        // The server may have got the request all the same.
        if ![.suspended, .busy].contains(error.code) { self.lease.releaseLater() }
        return nil
      }
      // Without a lease, for whatever reason, it loads without a turn.
      let lease = try? answer.write.get()
      if case .bytes? = lease { hasLease = true }
      if let value = value(type, answer.read, &context) {
        end()
        return value
      }
      let now = MonotonicClock.nanoseconds
      if hasLease || lease == nil || now >= limit { return nil }
      try await caller.sleep(nanoseconds: min(pause, limit - now))
      pause = min(pause * 2, Self.longestPause)
    }
  }

  /// Expired and unreadable values are loaded.
  private mutating func value<V: Codable & Sendable>(
    _ type: V.Type, _ reply: RemoteReply, _ context: inout LoadContext
  ) -> V? {
    do {
      guard let found = try cache.readEntry(reply, key), localRevision == 0 || found.revision.packed != localRevision
      else { return nil }
      var entry = found.entry
      guard let value = try cache.local.value(type, of: &entry) else { return nil }
      cache.client.counts.withLock { $0.hits += 1 }
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

  func publish<V: Codable & Sendable>(_ value: V, _ context: inout LoadContext, expires: Int64) async {
    if !hasLease { return }
    // After a failure the value is stored here by the same path, which reports it.
    guard context.isStored,
      let entry = try? cache.local.archive(
        value, forKey: key, expires: expires, cost: context.cost, tags: context.tags),
      let (record, life) = entry.liveRecord(at: cache.local.now)
    else { return end() }
    let command = RemoteScript.publish.command(
      keys: [cache.names.entry(key), cache.names.changes, lease.name], key, cache.configuration.rememberedChanges,
      lease.token, record, life ?? 0)
    do throws(RemoteTierError) {
      let replies = try await cache.client.send([command], .write, caller)
      guard let revision = RemoteEntry.revision(ofScript: replies[0]) else {
        // Somebody has written the key since the lease was taken, or it took too long.
        context.isStored = false
        return
      }
      cache.follower.note(revision)
      context.noteRevision(revision.packed, expires: expires)
    } catch {
      lease.releaseLater()
    }
  }

  func end() { if hasLease { lease.giveBack() } }
}

private struct Lease: Sendable {
  private static let firstPause: Int64 = 20_000_000
  private static let longestPause: Int64 = 5_000_000_000

  let name: String
  let token = Data(UUID().uuidString.utf8)
  private let client: RemoteClient
  private let work: DispatchQueue
  private let duration: Duration

  init(_ name: String, _ cache: DistributedCache) {
    self.name = name
    client = cache.client
    work = cache.work
    duration = cache.configuration.leaseDuration
  }

  var take: RemoteCommand { RemoteCommand("SET", name, token, "NX", "PX", duration.wholeMilliseconds) }

  private var release: RemoteCommand { RemoteScript.release.command(keys: [name], token) }

  func giveBack() { client.send([release], .write) { if case .failure = $0 { releaseLater() } } }

  /// Gives back a lease until it is certainly free: the request that took it may arrive later.
  func releaseLater(after pause: Int64 = firstPause, until end: Int64? = nil) {
    let end = end ?? MonotonicClock.nanoseconds.addingClamped(duration.clampedNanoseconds)
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
