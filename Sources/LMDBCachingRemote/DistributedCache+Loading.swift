import Dispatch
import Foundation
public import LMDBCaching
import Platform
import Synchronization

extension DistributedCache {
  /// The value under `key`; where no tier has one that is fresh, what `load` returns, which is stored for the whole
  /// fleet.
  ///
  /// One task of the fleet loads: the machines take turns with a lease on the server, see
  /// ``DistributedCacheConfiguration/leaseDuration``, the processes of a machine and the tasks of a process as
  /// `LMDBCache.value(_:forKey:options:load:)` says. What it says of values that are served while they are loaded anew,
  /// or since loading fails, holds here: they are this machine's.
  ///
  /// **Writes meanwhile.** A write or a removal of the key anywhere in the fleet takes the lease away: what is loaded
  /// is returned, and not stored. While the server does not answer each machine loads for itself, and stores here.
  ///
  /// - Throws: as that function.
  @_disfavoredOverload @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) throws -> V
  ) throws -> V {
    if servesAll, let value = try local.valueInMemory(type, forKey: key) { return value }
    return try loadedValue(type, key, options, load)
  }

  /// Returns the value under `key`, or the result of `load`, without blocking a thread.
  @inlinable
  public func value<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, options: LoadOptions? = nil,
    load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    if servesAll, let value = try local.valueInMemory(type, forKey: key) { return value }
    return try await loadedValue(type, key, options, load)
  }

  @usableFromInline
  func loadedValue<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions?, _ load: @escaping @Sendable (inout LoadContext) throws -> V
  ) throws -> V {
    try LoadCaller.wait { [self] caller in try await loadedValue(type, key, options, caller, load) }
  }

  @usableFromInline
  func loadedValue<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions?,
    _ load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    try await loadedValue(type, key, options, LoadCaller(), load)
  }

  private func loadedValue<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions?, _ caller: LoadCaller,
    _ load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    // Whether local values are served, and the new one is stored.
    var isStored = true
    if !servesAll {
      switch try await standing(key) {
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

  // MARK: The turn

  /// What the other machines may have, or a load.
  private func fetchOrLoad<V: Codable & Sendable>(
    _ type: V.Type, _ context: inout LoadContext, _ options: LoadOptions?, _ caller: LoadCaller,
    isAnew: Bool,
    _ load: (inout LoadContext) async throws -> V
  ) async throws -> V {
    var own = try FleetLoad(context.key, self, isAnew: isAnew)
    // What the server has is older than what waits to be sent.
    if queue?.find(context.key) != nil { own.didFailToLook() }
    while true {
      switch own.turn.step {
      case .look:
        do throws(RemoteTierError) {
          let replies = try await client.send([own.look], .read)
          if let value = own.didLook(type, replies[0], &context) { return value }
        } catch {
          own.didFailToLook()
        }
      case .ask:
        do throws(RemoteTierError) {
          let (lease, found) = try await client.send(own.takeLease, thenRead: own.look)
          if let value = own.didAsk(type, lease, found, &context) { return value }
        } catch {
          own.didFailToAsk()
        }
      case .pause(let nanoseconds):
        try await caller.sleep(nanoseconds: nanoseconds)
        own.didPause()
      case .load(hasLease: false):
        let value = try await load(&context)
        own.didLoad()
        return value
      case .load(hasLease: true):
        let value: V
        do { value = try await load(&context) } catch {
          own.release()
          throw error
        }
        own.didLoad()
        let expires = local.expiry(of: context, options)
        guard let publication = own.publication(of: value, context, expires: expires) else { return value }
        do throws(RemoteTierError) {
          own.didPublish(try await client.send([publication], .write)[0], expires: expires, &context)
        } catch {
          own.didFailToPublish()
        }
        return value
      }
    }
  }
}

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

/// What a machine does that needs a value that nobody here has. Pure: it asks for nothing itself.
///
/// It looks whether the fleet has one. If not, one machine of the fleet takes the lease of the key and loads; the
/// others look again after ever longer pauses, until there is a value, or the lease is free, or they have waited long
/// enough.
struct LoadTurn: Sendable {
  enum Step: Sendable, Equatable {
    /// Look at the entry.
    case look
    /// Take the lease if it is free, and look at the entry after that: what was stored by who had the lease before is
    /// found then.
    case ask
    /// Nanoseconds.
    case pause(Int64)
    /// Load. With the lease what is loaded is published.
    case load(hasLease: Bool)
  }

  private static let firstPause: Int64 = 2_000_000
  private static let longestPause: Int64 = 50_000_000

  private let end: Int64
  private var nextPause = firstPause

  private(set) var step = Step.look

  /// - Parameters: Nanoseconds of a clock that never goes back.
  init(now: Int64, limit: Int64) { end = now.addingClamped(limit) }

  /// There is no value.
  mutating func didLook() { step = .ask }

  /// There is no value; `hasLease` says whether it is this machine's turn.
  mutating func didAsk(hasLease: Bool, now: Int64) {
    if hasLease {
      step = .load(hasLease: true)
    } else if now >= end {
      step = .load(hasLease: false)
    } else {
      step = .pause(min(nextPause, end - now))
      nextPause = min(nextPause * 2, Self.longestPause)
    }
  }

  mutating func didPause() { step = .ask }

  /// The server does not answer, or takes no lease.
  mutating func didFail() { step = .load(hasLease: false) }
}
