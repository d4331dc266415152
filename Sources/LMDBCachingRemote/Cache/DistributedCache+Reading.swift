public import Foundation
public import LMDBCaching
import Logging
import Synchronization

extension DistributedCache {
  /// Returns the value under `key`, of the first tier that has it, or `nil` if none has.
  ///
  /// A server that does not answer has nothing: ``health`` says so.
  ///
  /// - Throws: as `LMDBCache.value(_:forKey:)`.
  @_disfavoredOverload @inlinable
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) throws -> V? {
    if servesAll, let value = try local.value(type, forKey: key) { return value }
    return try remoteValue(type, key)
  }

  /// The same for tasks: waiting for the server holds no thread.
  @inlinable
  public func value<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) async throws -> V? {
    if servesAll, let value = try local.value(type, forKey: key) { return value }
    return try await remoteValue(type, key)
  }

  /// Returns the object under `key`, of the first tier that has it, or `nil` if none has.
  ///
  /// - Throws: as `LMDBCache.object(forKey:)`.
  @_disfavoredOverload
  public func object(forKey key: String) throws -> (any NSCoding)? {
    if servesAll, let object = try local.object(forKey: key) { return object }
    return try find(key, read: { try $0.object(forKey: key) }, restore: { try $0.object(of: &$1) })
  }

  /// The same for tasks: waiting for the server holds no thread.
  public nonisolated(nonsending) func object(forKey key: String) async throws -> (any NSCoding)? {
    if servesAll, let object = try await local.object(forKey: key) { return object }
    return try await find(key, read: { try $0.object(forKey: key) }, restore: { try $0.object(of: &$1) })
  }

  @usableFromInline
  func remoteValue<V: Codable & Sendable>(_ type: V.Type, _ key: String) throws -> V? {
    try find(key, read: { try $0.value(type, forKey: key) }, restore: { try $0.value(type, of: &$1) })
  }

  @usableFromInline
  func remoteValue<V: Codable & Sendable>(_ type: V.Type, _ key: String) async throws -> V? {
    try await find(key, read: { try $0.value(type, forKey: key) }, restore: { try $0.value(type, of: &$1) })
  }

  /// - Parameters:
  ///   - read: Reads the local tiers.
  ///   - restore: Makes a value of an entry.
  private func find<V>(
    _ key: String, read: (LMDBCache) throws -> V?, restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) throws -> V? {
    try checkOpen()
    let isServable = try servesAll ? true : isServable(key)
    if isServable, let value = try read(local) { return value }
    if let found = queue?.find(key) { return try value(of: found, restore) }
    let watch = try KeyWatch(key, in: local)
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try client.sendAndWait([RemoteCommand("GET", names.entry(key))], .read)
    } catch {
      return nil
    }
    return try keep(replies[0], key, watch, isStored: isServable, restore)
  }

  private nonisolated(nonsending) func find<V>(
    _ key: String, read: (LMDBCache) throws -> V?, restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) async throws -> V? {
    try checkOpen()
    var isServable = servesAll
    if !isServable { isServable = try await self.isServable(key) }
    if isServable, let value = try read(local) { return value }
    if let found = queue?.find(key) { return try value(of: found, restore) }
    let watch = try KeyWatch(key, in: local)
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try await client.send([RemoteCommand("GET", names.entry(key))], .read)
    } catch {
      return nil
    }
    return try keep(replies[0], key, watch, isStored: isServable, restore)
  }

  /// A value that waits to be sent, and is not in the local tiers any more.
  private func value<V>(
    of found: WriteQueue.Found, _ restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) throws -> V? {
    guard case .value(var entry) = found else { return nil }
    return try restore(local, &entry)
  }

  /// Reads what the server has, and keeps it in the local tiers.
  private func keep<V>(
    _ reply: RemoteReply, _ key: String, _ watch: KeyWatch, isStored: Bool,
    _ restore: (LMDBCache, inout PortableEntry) throws -> V?
  ) throws -> V? {
    guard let found = try entry(reply, key) else {
      client.counters.misses.add(1, ordering: .relaxed)
      return nil
    }
    var (entry, revision) = found
    guard let value = try restore(local, &entry) else { return nil }
    client.counters.hits.add(1, ordering: .relaxed)
    if isStored { _ = try local.keep(entry, revision: revision.packed, watch: watch) }
    return value
  }

  /// What the server has; `nil` if it has nothing, or nothing that can be read: that is logged, and the next write of the
  /// key replaces it.
  func entry(_ reply: RemoteReply, _ key: String) throws -> (entry: PortableEntry, revision: RemoteRevision)? {
    do {
      guard let found = try RemoteEntry(reply) else { return nil }
      return (try local.entry(reading: found.record, forKey: key), found.revision)
    } catch {
      client.counters.unreadable.add(1, ordering: .relaxed)
      local.log(.warning, "remote entry cannot be read, and counts as absent", ["key": "\(key)", "error": "\(error)"])
      return nil
    }
  }
}
