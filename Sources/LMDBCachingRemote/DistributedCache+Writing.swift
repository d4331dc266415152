public import Foundation
import LMDBCaching

extension DistributedCache {
  /// Stores a value under `key` for the whole fleet.
  ///
  /// - Parameters:
  ///   - expiresIn: How long the entry lives. `nil` for ever; zero or less, not at all.
  ///   - cost: Its cost in each machine's tiers; `nil` for its size in bytes.
  /// - Throws: `CacheError`, or ``RemoteTierError`` if the server does not acknowledge it or the queue is full. A
  ///   server that is full, busy, refuses or is not asked leaves everything as it is. After any other error the key is
  ///   in no local tier: the fleet may see either value.
  @_disfavoredOverload
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws {
    try write([try archived(value, key, expiresIn, cost)])
  }

  /// Stores a value under `key` for the whole fleet, without blocking a thread.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) async throws {
    try await write([try archived(value, key, expiresIn, cost)])
  }

  /// Stores an object under `key` for the whole fleet, or with `nil` removes it. Throws as
  /// ``set(_:forKey:expiresIn:cost:)``.
  @_disfavoredOverload
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws {
    try write([try archived(object, key, expiresIn, cost)])
  }

  /// Stores an object under `key` for the whole fleet, or removes what is there, without blocking a thread.
  public nonisolated(nonsending) func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) async throws {
    try await write([try archived(object, key, expiresIn, cost)])
  }

  /// Removes the entry under `key` from the whole fleet. Throws as ``set(_:forKey:expiresIn:cost:)``.
  @_disfavoredOverload
  public func removeValue(forKey key: String) throws { try write([(key, nil)]) }

  /// Removes the entry under `key` from the whole fleet, without blocking a thread.
  public func removeValue(forKey key: String) async throws { try await write([(key, nil)]) }

  /// Stores values for the whole fleet, with one request. After an error, some may be stored.
  @_disfavoredOverload
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws {
    try write(try values.map { try archived($0.value, $0.key, expiresIn, cost) })
  }

  /// Stores values for the whole fleet, without blocking a thread.
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration? = nil, cost: Int? = nil
  ) async throws {
    try await write(try values.map { try archived($0.value, $0.key, expiresIn, cost) })
  }

  /// Removes entries from the whole fleet, with one request. After an error, some may be removed.
  @_disfavoredOverload
  public func removeValues(forKeys keys: some Sequence<String>) throws { try write(keys.map { ($0, nil) }) }

  /// Removes entries from the whole fleet, without blocking a thread.
  public func removeValues(forKeys keys: some Sequence<String>) async throws { try await write(keys.map { ($0, nil) }) }

  /// Without an entry, a removal.
  private typealias FleetWrite = (key: String, entry: PortableEntry?)

  private func archived<V: Codable & Sendable>(
    _ value: V, _ key: String, _ expiresIn: Duration?, _ cost: Int?
  ) throws -> FleetWrite {
    try checkOpen()
    let expires = expiresIn.map(local.expiry(after:)) ?? 0
    return (key, try local.archive(value, forKey: key, expires: expires, cost: cost, tags: []))
  }

  private func archived(
    _ object: (any NSCoding)?, _ key: String, _ expiresIn: Duration?, _ cost: Int?
  ) throws -> FleetWrite {
    try checkOpen()
    let expires = expiresIn.map(local.expiry(after:)) ?? 0
    return (key, try object.map { try local.archiveObject($0, forKey: key, expires: expires, cost: cost) })
  }

  private func write(_ writes: [FleetWrite]) throws {
    if try !enqueue(writes) { try LoadCaller.wait { try await self.send(writes, $0) } }
  }

  private func write(_ writes: [FleetWrite]) async throws {
    if try !enqueue(writes) { try await send(writes, LoadCaller()) }
  }

  private func send(_ writes: [FleetWrite], _ caller: LoadCaller) async throws {
    let watches = writes.map { local.watchWrite($0.key, news) }
    defer { for write in writes { news.end(write.key) } }
    let batches = batches(of: writes)
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try await client.send(batches.map(\.command), .write, caller) { replies in
        zip(replies, batches).lazy.compactMap { WriteBatch.outcomes(of: $0, count: $1.count).failure }.first
      }
    } catch {
      try forget(writes, error)
      throw error
    }
    try didWrite(writes, watches, batches, replies)
  }

  private func batches(of writes: [FleetWrite]) -> [WriteBatch] {
    let empty = WriteBatch(queue: nil, names, streamLength: configuration.rememberedChanges)
    var batches = [empty]
    let now = local.now
    for write in writes {
      if batches[batches.count - 1].isFull { batches.append(empty) }
      batches[batches.count - 1].add(write.key, write.entry, at: now)
    }
    return batches
  }

  /// After an error: which value the fleet will see is not known, unless nothing was done.
  private func forget(_ writes: [FleetWrite], _ error: RemoteTierError) throws {
    if error.isWithoutEffect, writes.count == 1 || error.code == .suspended || error.code == .busy { return }
    for write in writes { try local.removeValue(forKey: write.key) }
  }

  private func didWrite(
    _ writes: [FleetWrite], _ watches: [KeyWatch], _ batches: [WriteBatch], _ replies: [RemoteReply]
  ) throws {
    var rest = Array(zip(writes, watches))[...]
    var failure: RemoteTierError?
    for (reply, batch) in zip(replies, batches) {
      let (made, error) = WriteBatch.outcomes(of: reply, count: batch.count)
      for (revision, (write, watch)) in zip(made, rest) {
        if let revision { try didWrite(write, revision, watch) }
      }
      // After another error the outcome of the others is unknown.
      if let error, !error.isWithoutEffect {
        try forget(rest.prefix(batch.count).dropFirst(made.count).map(\.0), error)
      }
      failure = failure ?? error
      rest = rest.dropFirst(batch.count)
    }
    if let failure { throw failure }
  }

  private func didWrite(_ write: FleetWrite, _ revision: RemoteRevision, _ watch: KeyWatch) throws(CacheError) {
    follower.note(revision)
    if let entry = write.entry, try store(entry, revision, watch) { return }
    try local.invalidate(write.key, below: revision.packed, news)
  }

  /// Adds writes to the queue, if there is one. Returns whether nothing is left to send.
  private func enqueue(_ writes: [FleetWrite]) throws -> Bool {
    try checkOpen()
    guard let queue else { return writes.isEmpty }
    defer { senders.first?.wake() }
    for write in writes {
      try queue.add(write.key, write.entry)
      // After that: what is loaded from now on is not of the time before.
      if write.entry == nil { try local.removeValue(forKey: write.key) }
    }
    return true
  }

  /// Removes every entry of the fleet whose key starts with `prefix`; by default, all.
  ///
  /// Scans all keys of the server. Later writes stay. Other machines serve their entries until it is done. After an
  /// error, some may be removed.
  @_disfavoredOverload
  public func removeAll(withPrefix prefix: String = "") throws {
    try LoadCaller.wait { try await self.removeAll(prefix, $0) }
  }

  /// Removes every entry of the fleet whose key starts with `prefix`, without blocking a thread.
  public func removeAll(withPrefix prefix: String = "") async throws { try await removeAll(prefix, LoadCaller()) }

  private func removeAll(_ prefix: String, _ caller: LoadCaller) async throws {
    try checkOpen()
    if let queue {
      try queue.add(prefix, nil, isRemovalOfAll: true)
      senders.first?.wake()
      return try removeLocally(prefix)
    }
    let removal = RemovalOfAll(
      prefix: prefix, client: client, names: names, streamLength: configuration.rememberedChanges)
    guard let revision = try await removal.run(caller) else { return }
    follower.note(revision)
    try local.invalidateAll(withPrefix: prefix, below: revision.packed, news)
  }

  func removeLocally(_ prefix: String) throws(CacheError) {
    if prefix.isEmpty { try local.removeAll() } else { try local.removeAll(.prefix(prefix)) }
  }
}
