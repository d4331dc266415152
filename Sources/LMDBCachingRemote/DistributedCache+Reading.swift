public import Foundation
public import LMDBCaching
import Logging
import Platform
import Synchronization

extension DistributedCache {
  /// Returns the value under `key`, of the first tier that has it, or `nil`. A server that does not answer has nothing.
  @_disfavoredOverload @inlinable
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) throws -> V? {
    let isServed = servesAll
    if isServed, let value = try local.value(type, forKey: key) { return value }
    return try LoadCaller.wait { try await self.value(type, key, isMissing: isServed, $0) }
  }

  /// Returns the value under `key`, of the first tier that has it, or `nil`, without blocking a thread.
  @inlinable
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) async throws -> V? {
    let isServed = servesAll
    if isServed, let value = try local.value(type, forKey: key) { return value }
    return try await value(type, key, isMissing: isServed, LoadCaller())
  }

  /// Returns the object under `key`, of the first tier that has it, or `nil`.
  @_disfavoredOverload
  public func object(forKey key: String) throws -> (any NSCoding)? {
    let isServed = servesAll
    if isServed, let object = try local.object(forKey: key) { return object }
    return try LoadCaller.wait { try await self.object(key, isMissing: isServed, $0) }.object
  }

  /// Returns the object under `key`, of the first tier that has it, or `nil`, without blocking a thread.
  public nonisolated(nonsending) func object(forKey key: String) async throws -> (any NSCoding)? {
    let isServed = servesAll
    if isServed, let object = try local.object(forKey: key) { return object }
    return try await object(key, isMissing: isServed, LoadCaller()).object
  }

  @usableFromInline
  func value<V: Codable & Sendable>(
    _ type: V.Type, _ key: String, isMissing: Bool, _ caller: LoadCaller
  ) async throws -> V? {
    try await find(key, isMissing: isMissing, caller) {
      try $0.value(type, forKey: key)
    } restore: {
      try $0.value(type, of: &$1)
    }
  }

  // @unchecked: threads share objects, as those of the local cache.
  private struct SharedObject: @unchecked Sendable {
    let object: (any NSCoding)?
  }

  private func object(_ key: String, isMissing: Bool, _ caller: LoadCaller) async throws -> SharedObject {
    let found = try await find(key, isMissing: isMissing, caller) {
      try $0.object(forKey: key).map(SharedObject.init)
    } restore: {
      try $0.object(of: &$1).map(SharedObject.init)
    }
    return found ?? SharedObject(object: nil)
  }

  /// - Parameter isMissing: Whether the local tiers may be served, and have nothing.
  private func find<V: Sendable>(
    _ key: String, isMissing: Bool, _ caller: LoadCaller, read: (LMDBCache) throws -> V?,
    restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) async throws -> V? {
    var isStored = true
    switch isMissing ? .absent : servesAll ? .local : try await standing(key, caller) {
    case .waiting(var entry): return try restore(local, &entry)
    case .expired: return nil
    case .removed: return try read(local)
    case .unservable: isStored = false
    case .absent: break
    case .local: if let value = try read(local) { return value }
    }
    let watch = local.watch(key, news)
    let reply: RemoteReply
    do throws(RemoteTierError) {
      reply = try await client.send([RemoteCommand("GET", names.entry(key))], .read, caller)[0]
    } catch {
      return nil
    }
    var found: (entry: PortableEntry, revision: RemoteRevision)?
    do { found = try readEntry(reply, key) } catch {
      // The next write of the key replaces it.
      noteUnreadable(key, error)
    }
    guard var found else {
      client.counts.withLock { $0.misses += 1 }
      return nil
    }
    guard let value = try restore(local, &found.entry) else { return nil }
    client.counts.withLock { $0.hits += 1 }
    if isStored {
      follower.note(found.revision)
      _ = try local.keep(found.entry, revision: found.revision.packed, since: watch, news)
    }
    return value
  }

  /// The server's entry, if any. Throws if it cannot be read.
  func readEntry(_ reply: RemoteReply, _ key: String) throws -> (entry: PortableEntry, revision: RemoteRevision)? {
    guard let found = try RemoteEntry(reply) else { return nil }
    return (try local.entry(reading: found.record, forKey: key), found.revision)
  }

  func noteUnreadable(_ key: String, _ error: any Error) {
    client.counts.withLock { $0.unreadable += 1 }
    local.log(
      .warning, "remote entry cannot be read, and counts as absent", ["key": "\(quoted(key))", "error": "\(error)"])
  }

  @inlinable
  var servesAll: Bool { gate.isOpen }

  enum Standing {
    /// What is local may be served, and what the server has be stored.
    case local
    case absent
    /// Local values may not be served, nor remote ones stored: the newest is unknown.
    case unservable
    case waiting(PortableEntry)
    /// A removal waits to be sent. What is local was made after that.
    case removed
    /// What waited has expired while it was sent.
    case expired
  }

  func standing(_ key: String, _ caller: LoadCaller) async throws -> Standing {
    try checkOpen()
    if gate.has(.waiting), let found = queue?.find(key) { return try standing(key, found) }
    if !gate.servesUnheard { return .unservable }
    guard let check = try check(key) else { return .local }
    let reply: RemoteReply
    do throws(RemoteTierError) { reply = try await client.send([check.command], .read, caller)[0] } catch {
      // In touch, the fleet may have changed the entry before; out of touch, local values are served for a while.
      guard error.isOfAnotherType else { return follower.touch != .heard && gate.servesUnheard ? .local : .unservable }
      reply = .null
    }
    if isNewest(reply, check) {
      revalidation.noteChecked(key, floor: check.floor)
      return .local
    }
    do throws(CacheError) {
      try remove(check)
      return .absent
    } catch {
      local.log(.error, "an old entry could not be removed", ["key": "\(quoted(key))", "error": "\(error)"])
      return .unservable
    }
  }

  private func standing(_ key: String, _ found: WriteQueue.Found) throws -> Standing {
    if case .value(let entry, let number) = found {
      if entry.millisecondsToLive(at: local.now) != 0 { return .waiting(entry) }
      guard queue?.expire(key, number: number) == true else { return .expired }
      try local.removeValue(forKey: key)
    } else if let found = try local.revision(forKey: key), found.revision != 0 {
      // Another process of the directory has fetched what is to be removed.
      try local.removeValue(forKey: key)
    }
    return .removed
  }
}
