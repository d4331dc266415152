public import Foundation
public import LMDBCaching
import Logging
import Platform
import Synchronization

extension DistributedCache {
  /// Returns the value under `key`, of the first tier that has it, or `nil` if none has.
  ///
  /// A server that does not answer has nothing: ``health`` says so.
  ///
  /// - Throws: as `LMDBCache.value(_:forKey:)`.
  @_disfavoredOverload @inlinable
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) throws -> V? {
    guard servesAll else { return try carefulValue(type, key) }
    if let value = try local.value(type, forKey: key) { return value }
    return try remoteValue(type, key)
  }

  /// The same for tasks: waiting for the server holds no thread.
  @inlinable
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) async throws -> V? {
    guard servesAll else { return try await carefulValue(type, key) }
    if let value = try local.value(type, forKey: key) { return value }
    return try await remoteValue(type, key)
  }

  /// Returns the object under `key`, of the first tier that has it, or `nil` if none has.
  ///
  /// - Throws: as `LMDBCache.object(forKey:)`.
  @_disfavoredOverload
  public func object(forKey key: String) throws -> (any NSCoding)? {
    guard servesAll else {
      return try find(key, read: { try $0.object(forKey: key) }, restore: { try $0.object(of: &$1) })
    }
    if let object = try local.object(forKey: key) { return object }
    return try fetch(key, isStored: true) { try $0.object(of: &$1) }
  }

  /// The same for tasks: waiting for the server holds no thread.
  public nonisolated(nonsending) func object(forKey key: String) async throws -> (any NSCoding)? {
    guard servesAll else {
      return try await find(key, read: { try $0.object(forKey: key) }, restore: { try $0.object(of: &$1) })
    }
    if let object = try local.object(forKey: key) { return object }
    return try await fetch(key, isStored: true) { try $0.object(of: &$1) }
  }

  @usableFromInline
  func carefulValue<V: Codable & Sendable>(_ type: V.Type, _ key: String) throws -> V? {
    try find(key, read: { try $0.value(type, forKey: key) }, restore: { try $0.value(type, of: &$1) })
  }

  @usableFromInline
  func carefulValue<V: Codable & Sendable>(_ type: V.Type, _ key: String) async throws -> V? {
    try await find(key, read: { try $0.value(type, forKey: key) }, restore: { try $0.value(type, of: &$1) })
  }

  /// The local tiers have nothing.
  @usableFromInline
  func remoteValue<V: Codable & Sendable>(_ type: V.Type, _ key: String) throws -> V? {
    try fetch(key, isStored: true) { try $0.value(type, of: &$1) }
  }

  @usableFromInline
  func remoteValue<V: Codable & Sendable>(_ type: V.Type, _ key: String) async throws -> V? {
    try await fetch(key, isStored: true) { try $0.value(type, of: &$1) }
  }

  // MARK: One read

  /// - Parameters:
  ///   - read: Reads the local tiers.
  ///   - restore: Makes a value of an entry.
  private func find<V>(
    _ key: String, read: (LMDBCache) throws -> V?, restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) throws -> V? {
    switch try standing(key) {
    case .waiting(var entry): return try restore(local, &entry)
    case .expired: return nil
    case .removed: return try read(local)
    case .unservable: return try fetch(key, isStored: false, restore)
    case .absent: return try fetch(key, isStored: true, restore)
    case .local:
      if let value = try read(local) { return value }
      return try fetch(key, isStored: true, restore)
    }
  }

  private nonisolated(nonsending) func find<V>(
    _ key: String, read: (LMDBCache) throws -> V?, restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) async throws -> V? {
    switch try await standing(key) {
    case .waiting(var entry): return try restore(local, &entry)
    case .expired: return nil
    case .removed: return try read(local)
    case .unservable: return try await fetch(key, isStored: false, restore)
    case .absent: return try await fetch(key, isStored: true, restore)
    case .local:
      if let value = try read(local) { return value }
      return try await fetch(key, isStored: true, restore)
    }
  }

  private func fetch<V>(
    _ key: String, isStored: Bool, _ restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) throws -> V? {
    let watch = local.watch(key, news)
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try client.sendAndWait([RemoteCommand("GET", names.entry(key))], .read)
    } catch {
      return nil
    }
    return try keep(replies[0], key, watch, isStored: isStored, restore)
  }

  private nonisolated(nonsending) func fetch<V>(
    _ key: String, isStored: Bool, _ restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) async throws -> V? {
    let watch = local.watch(key, news)
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try await client.send([RemoteCommand("GET", names.entry(key))], .read)
    } catch {
      return nil
    }
    return try keep(replies[0], key, watch, isStored: isStored, restore)
  }

  /// Reads what the server has, and keeps it in the local tiers.
  private func keep<V>(
    _ reply: RemoteReply, _ key: String, _ watch: KeyWatch, isStored: Bool,
    _ restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) throws -> V? {
    guard let found = entry(reply, key) else {
      client.counters.misses.add(1, ordering: .relaxed)
      return nil
    }
    var (entry, revision) = found
    guard let value = try restore(local, &entry) else { return nil }
    client.counters.hits.add(1, ordering: .relaxed)
    if isStored {
      follower.note(revision)
      _ = try local.keep(entry, revision: revision.packed, since: watch, news)
    }
    return value
  }

  /// What the server has; `nil` if it has nothing, or nothing that can be read: that is logged, and the next write of
  /// the key replaces it.
  private func entry(_ reply: RemoteReply, _ key: String) -> (entry: PortableEntry, revision: RemoteRevision)? {
    do {
      return try readEntry(reply, key)
    } catch {
      noteUnreadable(key, error)
      return nil
    }
  }

  /// What the server has; `nil` if it has nothing.
  ///
  /// - Throws: For what cannot be read, why not.
  func readEntry(_ reply: RemoteReply, _ key: String) throws -> (entry: PortableEntry, revision: RemoteRevision)? {
    guard let found = try RemoteEntry(reply) else { return nil }
    return (try local.entry(reading: found.record, forKey: key), found.revision)
  }

  func noteUnreadable(_ key: String, _ error: any Error) {
    client.counters.unreadable.add(1, ordering: .relaxed)
    local.log(
      .warning, "remote entry cannot be read, and counts as absent", ["key": "\(quoted(key))", "error": "\(error)"])
  }
}

// What of the local tiers may be served.

extension DistributedCache {
  /// Whether everything local may be served.
  @inlinable
  var servesAll: Bool { gate.isOpen }

  /// How things stand with a key.
  enum Standing {
    /// What is local may be served, and what the server has be stored.
    case local
    /// What was local is old, and gone.
    case absent
    /// What is local may not be served: whether it is the newest cannot be found out. What is found instead is not
    /// stored.
    case unservable
    /// It waits to be sent.
    case waiting(PortableEntry)
    /// A removal waits to be sent. What is local was made after that.
    case removed
    /// What waited has expired while it was sent.
    case expired
  }

  private enum Look {
    case standing(Standing)
    case check(Check)
  }

  func standing(_ key: String) throws -> Standing {
    switch try look(key) {
    case .standing(let standing): return standing
    case .check(let check):
      do throws(RemoteTierError) {
        return didCheck(key, check, try client.sendAndWait([check.command], .read)[0])
      } catch {
        return error.isOfAnotherType ? didCheck(key, check, .null) : unchecked
      }
    }
  }

  nonisolated(nonsending) func standing(_ key: String) async throws -> Standing {
    switch try look(key) {
    case .standing(let standing): return standing
    case .check(let check):
      let reply: RemoteReply
      do throws(RemoteTierError) { reply = try await client.send([check.command], .read)[0] } catch {
        return error.isOfAnotherType ? didCheck(key, check, .null) : unchecked
      }
      return didCheck(key, check, reply)
    }
  }

  private func look(_ key: String) throws -> Look {
    try checkOpen()
    if gate.has(.waiting), let found = queue?.find(key) { return .standing(try standing(key, found)) }
    if !gate.servesUnheard { return .standing(.unservable) }
    return try check(key).map { .check($0) } ?? .standing(.local)
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

  private func didCheck(_ key: String, _ check: Check, _ reply: RemoteReply) -> Standing {
    if isNewest(reply, check) {
      revalidation.noteChecked(key, floor: check.floor)
      return .local
    }
    do throws(CacheError) {
      try local.invalidate(key, below: check.revision.addingClamped(1), news)
      return .absent
    } catch {
      local.log(.error, "an old entry could not be removed", ["key": "\(quoted(key))", "error": "\(error)"])
      return .unservable
    }
  }

  /// The server cannot be asked. While the fleet is heard of it may have changed the entry before; while it is not,
  /// what is local is served for as long as that is allowed.
  private var unchecked: Standing {
    follower.touch != .heard && gate.servesUnheard ? .local : .unservable
  }
}
