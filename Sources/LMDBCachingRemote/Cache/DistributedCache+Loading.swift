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
