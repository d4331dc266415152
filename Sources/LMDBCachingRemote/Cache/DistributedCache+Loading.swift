import Foundation
public import LMDBCaching
import Platform
import Synchronization

extension DistributedCache {
  /// The value under `key`; where no tier has one that is fresh, what `load` returns, which is stored for the whole fleet.
  ///
  /// One task of the fleet loads: the machines take turns with a lease on the server, see
  /// ``DistributedCacheConfiguration/leaseDuration``, the processes of a machine and the tasks of a process as
  /// ``LMDBCache/value(_:forKey:options:load:)`` says. What it says of values that are served while they are loaded anew, or
  /// since loading fails, holds here: they are this machine's.
  ///
  /// **Writes meanwhile.** A write or a removal of the key anywhere in the fleet takes the lease away: what is loaded is
  /// returned, and not stored. While the server does not answer each machine loads for itself, and stores here.
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

  /// The same for tasks: `load` runs in a task of its own, and waiting holds no thread.
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
    try checkOpen()
    let isServable = try servesAll ? true : isServable(key)
    guard isServable else {
      let asked = options ?? local.loadOptions
      return try local.waiting(asked.timeLimit, for: key) { [self] in
        var context = LoadContext(key: key, asked)
        return try fetchOrLoad(type, &context, asked, load)
      }
    }
    return try local.value(type, forKey: key, options: options) { [self] context in
      try fetchOrLoad(type, &context, options, load)
    }
  }

  @usableFromInline
  func loadedValue<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, _ options: LoadOptions?,
    _ load: @escaping @Sendable (inout LoadContext) async throws -> V
  ) async throws -> V {
    try checkOpen()
    var isServable = servesAll
    if !isServable { isServable = try await self.isServable(key) }
    guard isServable else {
      let asked = options ?? local.loadOptions
      return try await local.waiting(asked.timeLimit, for: key) { [self] in
        var context = LoadContext(key: key, asked)
        return try await fetchOrLoad(type, &context, asked, load)
      }
    }
    return try await local.value(type, forKey: key, options: options) { [self] context in
      try await fetchOrLoad(type, &context, options, load)
    }
  }

  // MARK: The turn

  /// What the other machines may have, or a load.
  private func fetchOrLoad<V: Codable & Sendable>(
    _ type: V.Type, _ context: inout LoadContext, _ options: LoadOptions?, _ load: (inout LoadContext) throws -> V
  ) throws -> V {
    let key = context.key
    let ask = try Asking(key, self)
    var turn = LoadTurn(now: MonotonicClock.nanoseconds, limit: configuration.loadWaitLimit.clampedNanoseconds)
    while true {
      switch turn.step {
      case .ask:
        if let found = queue?.find(key) {
          if let value = try waiting(type, found, &context) { return value }
          turn.didFail()
          continue
        }
        do throws(RemoteTierError) {
          let replies = try client.sendAndWait(ask.commands, .read)
          if let value = storedMeanwhile(type, replies, ask, &turn, &context) { return value }
        } catch {
          turn.didFail()
        }
      case .pause(let nanoseconds):
        MonotonicClock.sleep(nanoseconds: nanoseconds)
        turn.didPause()
      case .load(hasLease: false):
        let value = try load(&context)
        client.counters.loads.add(1, ordering: .relaxed)
        return value
      case .load(hasLease: true):
        let value: V
        do { value = try load(&context) } catch {
          client.send([ask.release], .write) { _ in }
          throw error
        }
        client.counters.loads.add(1, ordering: .relaxed)
        let expires = local.expiry(of: context, options)
        guard let publication = publication(of: value, context, expires, ask) else { return value }
        do throws(RemoteTierError) {
          didPublish(try client.sendAndWait([publication], .write), expires, &context)
        } catch {
          // It is this machine's until the server says otherwise.
        }
        return value
      }
    }
  }

  private func fetchOrLoad<V: Codable & Sendable>(
    _ type: V.Type, _ context: inout LoadContext, _ options: LoadOptions?,
    _ load: (inout LoadContext) async throws -> V
  ) async throws -> V {
    let key = context.key
    let ask = try Asking(key, self)
    var turn = LoadTurn(now: MonotonicClock.nanoseconds, limit: configuration.loadWaitLimit.clampedNanoseconds)
    while true {
      switch turn.step {
      case .ask:
        if let found = queue?.find(key) {
          if let value = try waiting(type, found, &context) { return value }
          turn.didFail()
          continue
        }
        do throws(RemoteTierError) {
          let replies = try await client.send(ask.commands, .read)
          if let value = storedMeanwhile(type, replies, ask, &turn, &context) { return value }
        } catch {
          turn.didFail()
        }
      case .pause(let nanoseconds):
        try await Task.sleep(for: .nanoseconds(nanoseconds))
        turn.didPause()
      case .load(hasLease: false):
        let value = try await load(&context)
        client.counters.loads.add(1, ordering: .relaxed)
        return value
      case .load(hasLease: true):
        let value: V
        do { value = try await load(&context) } catch {
          client.send([ask.release], .write) { _ in }
          throw error
        }
        client.counters.loads.add(1, ordering: .relaxed)
        let expires = local.expiry(of: context, options)
        guard let publication = publication(of: value, context, expires, ask) else { return value }
        do throws(RemoteTierError) {
          didPublish(try await client.send([publication], .write), expires, &context)
        } catch {
          // It is this machine's until the server says otherwise.
        }
        return value
      }
    }
  }

  /// What is sent in a turn.
  private struct Asking {
    let token = Data(UUID().uuidString.utf8)
    let commands: [RemoteCommand]
    let release: RemoteCommand
    let keys: [String]
    /// Of the entry that is here, and is loaded anew; 0: there is none.
    let localRevision: UInt64

    init(_ key: String, _ cache: DistributedCache) throws {
      let names = cache.names
      // The lease first: what was stored by who had it before is found then.
      commands = [
        RemoteCommand(
          "SET", names.lease(key), token, "NX", "PX", cache.configuration.leaseDuration.wholeMilliseconds),
        RemoteCommand("GET", names.entry(key)),
      ]
      release = RemoteScript.release.command(keys: [names.lease(key)], token)
      keys = [names.entry(key), names.changes, names.lease(key)]
      localRevision = try cache.local.revision(forKey: key)?.revision ?? 0
    }
  }

  /// A value that waits to be sent, and is not in the local tiers any more.
  private func waiting<V: Codable & Sendable>(
    _ type: V.Type, _ found: WriteQueue.Found, _ context: inout LoadContext
  ) throws -> V? {
    guard case .value(var entry) = found, let value = try local.value(type, of: &entry) else { return nil }
    context.inherit(entry, revision: 0)
    return value
  }

  /// The value that another machine has stored, unless it is the one that is to be loaded anew.
  private func storedMeanwhile<V: Codable & Sendable>(
    _ type: V.Type, _ replies: [RemoteReply], _ ask: Asking, _ turn: inout LoadTurn, _ context: inout LoadContext
  ) -> V? {
    let hasLease = if case .bytes = replies[0] { true } else { false }
    if let (found, revision) = try? entry(replies[1], context.key),
      ask.localRevision == 0 || revision.packed != ask.localRevision,
      let (value, entry) = decoded(type, found)
    {
      if hasLease { client.send([ask.release], .write) { _ in } }
      client.counters.hits.add(1, ordering: .relaxed)
      context.inherit(entry, revision: revision.packed)
      return value
    }
    if turn.step == .ask, hasLease { client.counters.misses.add(1, ordering: .relaxed) }
    turn.didAsk(hasLease: hasLease, now: MonotonicClock.nanoseconds)
    return nil
  }

  /// `nil` for what has expired, or is of another type, which is loaded anew.
  private func decoded<V: Codable & Sendable>(_ type: V.Type, _ entry: PortableEntry) -> (V, PortableEntry)? {
    var entry = entry
    guard let value = try? local.value(type, of: &entry) else { return nil }
    return (value, entry)
  }

  /// `nil` for what is not to be stored, or cannot be.
  private func publication<V: Codable & Sendable>(
    of value: V, _ context: LoadContext, _ expires: Int64, _ ask: Asking
  ) -> RemoteCommand? {
    guard context.isStored else {
      client.send([ask.release], .write) { _ in }
      return nil
    }
    let entry = try? local.archive(value, forKey: context.key, expires: expires, cost: context.cost, tags: context.tags)
    guard let entry, entry.millisecondsToLive != 0 else {
      client.send([ask.release], .write) { _ in }
      return nil
    }
    return RemoteScript.publish.command(
      keys: ask.keys, context.key, configuration.rememberedChanges, ask.token, entry.record,
      entry.millisecondsToLive ?? 0)
  }

  private func didPublish(_ replies: [RemoteReply], _ expires: Int64, _ context: inout LoadContext) {
    guard let revision = RemoteEntry.revision(ofScript: replies[0]) else {
      // Somebody has written the key since the lease was taken, or it took too long.
      context.isStored = false
      return
    }
    noteOwn(revision)
    context.noteRevision(revision.packed, expires: expires)
  }
}

extension LoadContext {
  fileprivate init(key: String, _ options: LoadOptions) {
    self.init(key: key, lifetime: options.lifetime, cost: options.cost, tags: options.tags)
    // The local tiers have something else, which is not to be served.
    isStored = false
  }
}
