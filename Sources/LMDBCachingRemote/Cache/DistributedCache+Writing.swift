public import Foundation
import LMDBCaching

extension DistributedCache {
  /// Stores a value under `key` for the whole fleet.
  ///
  /// - Parameters:
  ///   - expiresIn: How long the entry lives. `nil` for ever; zero or less, not at all.
  ///   - cost: What it counts for against the limits of each machine's tiers; `nil` for its size in bytes.
  /// - Throws: ``RemoteTierError`` if the server does not acknowledge it, or the queue is full; as
  ///   `LMDBCache.set(_:forKey:expiresIn:cost:)` otherwise. A server that is full, refuses the write or is not asked
  ///   leaves everything as it is. After any other error of it the key is in no local tier: whether the fleet sees the new
  ///   value or the old one is not known.
  @_disfavoredOverload
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws {
    try write(try archived(value, key, expiresIn, cost))
  }

  /// The same for tasks.
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) async throws {
    try await write(try archived(value, key, expiresIn, cost))
  }

  /// Stores an object under `key` for the whole fleet, or with `nil` removes what is there.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``.
  @_disfavoredOverload
  public func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws {
    try write(try archived(object, key, expiresIn, cost))
  }

  /// The same for tasks.
  public nonisolated(nonsending) func setObject(
    _ object: (any NSCoding)?, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) async throws {
    try await write(try archived(object, key, expiresIn, cost))
  }

  /// Removes the entry under `key` from the whole fleet.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``.
  @_disfavoredOverload
  public func removeValue(forKey key: String) throws { try write(.remove(key)) }

  /// The same for tasks.
  public func removeValue(forKey key: String) async throws { try await write(.remove(key)) }

  /// Stores values for the whole fleet, with one request to the server. Each is a write of its own.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; some may be stored then.
  @_disfavoredOverload
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws {
    try write(try values.map { try archived($0.value, $0.key, expiresIn, cost) })
  }

  /// The same for tasks.
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration? = nil, cost: Int? = nil
  ) async throws {
    try await write(try values.map { try archived($0.value, $0.key, expiresIn, cost) })
  }

  /// Removes entries from the whole fleet, with one request to the server.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; some may be removed then.
  @_disfavoredOverload
  public func removeValues(forKeys keys: some Sequence<String>) throws { try write(keys.map { .remove($0) }) }

  /// The same for tasks.
  public func removeValues(forKeys keys: some Sequence<String>) async throws {
    try await write(keys.map { .remove($0) })
  }

  // MARK: One write

  private enum FleetWrite: Sendable {
    case set(PortableEntry)
    case remove(String)

    var key: String {
      switch self {
      case .set(let entry): entry.key
      case .remove(let key): key
      }
    }
  }

  private func archived<V: Codable & Sendable>(
    _ value: V, _ key: String, _ expiresIn: Duration?, _ cost: Int?
  ) throws -> FleetWrite {
    try checkOpen()
    let expires = expiresIn.map(local.expiry(after:)) ?? 0
    return .set(try local.archive(value, forKey: key, expires: expires, cost: cost, tags: []))
  }

  private func archived(
    _ object: (any NSCoding)?, _ key: String, _ expiresIn: Duration?, _ cost: Int?
  ) throws -> FleetWrite {
    try checkOpen()
    guard let object else { return .remove(key) }
    let expires = expiresIn.map(local.expiry(after:)) ?? 0
    return .set(try local.archiveObject(object, forKey: key, expires: expires, cost: cost))
  }

  private func write(_ single: FleetWrite) throws {
    guard queue == nil else { return try enqueueAndSend(single) }
    try write([single])
  }

  private func write(_ single: FleetWrite) async throws {
    guard queue == nil else { return try enqueueAndSend(single) }
    try await write([single])
  }

  private func enqueueAndSend(_ write: FleetWrite) throws {
    try checkOpen()
    try enqueue(write)
    sender?.wake()
  }

  private func write(_ writes: [FleetWrite]) throws {
    try checkOpen()
    if writes.isEmpty { return }
    if queue != nil { return try enqueue(writes) }
    let watches = try writes.map { try KeyWatch($0.key, in: local) }
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try client.sendAndWait(writes.map(command), .write)
    } catch {
      try forget(writes, error)
      throw error
    }
    try didWrite(writes, replies, watches)
  }

  private func write(_ writes: [FleetWrite]) async throws {
    try checkOpen()
    if writes.isEmpty { return }
    if queue != nil { return try enqueue(writes) }
    let watches = try writes.map { try KeyWatch($0.key, in: local) }
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try await client.send(writes.map(command), .write)
    } catch {
      try forget(writes, error)
      throw error
    }
    try didWrite(writes, replies, watches)
  }

  private func command(_ write: FleetWrite) -> RemoteCommand {
    let keys = [names.entry(write.key), names.changes, names.lease(write.key)]
    if case .set(let entry) = write, entry.millisecondsToLive != 0 {
      return RemoteScript.set.command(
        keys: keys, write.key, configuration.rememberedChanges, 0, entry.record,
        entry.millisecondsToLive ?? 0)
    }
    return RemoteScript.remove.command(keys: keys, write.key, configuration.rememberedChanges, 0)
  }

  /// After an error: which value the fleet will see is not known, unless nothing was done.
  private func forget(_ writes: [FleetWrite], _ error: RemoteTierError) throws {
    if error.isWithoutEffect, writes.count == 1 || error.code == .suspended { return }
    for write in writes { try local.removeValue(forKey: write.key) }
  }

  private func didWrite(_ writes: [FleetWrite], _ replies: [RemoteReply], _ watches: [KeyWatch]) throws {
    for (index, (write, reply)) in zip(writes, replies).enumerated() {
      guard let revision = RemoteEntry.revision(ofScript: reply) else {
        throw RemoteTierError(.failed, "The server returned no revision of a write.")
      }
      noteOwn(revision)
      local.noteRevision(revision.packed, forKey: write.key)
      if case .set(let entry) = write,
        try local.keep(entry, revision: revision.packed, watch: watches[index])
      {
        continue
      }
      // Removed, or there is something newer.
      try local.invalidate(write.key, below: revision.packed)
    }
  }

  // MARK: Behind

  private func enqueue(_ writes: [FleetWrite]) throws {
    for write in writes { try enqueue(write) }
    sender?.wake()
  }

  private func enqueue(_ write: FleetWrite) throws {
    guard let queue else { return }
    let key = write.key
    switch write {
    case .remove:
      let number = try queue.add(key, .remove)
      do { try local.removeValue(forKey: key) } catch {
        queue.cancel(number)
        throw error
      }
    case .set(let entry):
      let number = try queue.add(key, .set(entry))
      do {
        // The queue's order is the fleet's: the write that is last there is what stays here.
        _ = try local.keep(entry, 0) { queue.isLast(number, key) }
      } catch {
        queue.cancel(number)
        throw error
      }
    }
  }

  // MARK: Many

  /// Removes every entry of the fleet whose key starts with `prefix`, byte for byte.
  ///
  /// The server is looked through page by page, which takes as long as it has keys, of this fleet or others. What is
  /// written meanwhile stays. Other machines serve what they have until it is done.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; part of them may be removed then.
  @_disfavoredOverload
  public func removeAll(withPrefix prefix: String) throws {
    let done = Settled<Result<RemoteRevision?, RemoteTierError>>()
    try removeAll(prefix) { done.settle($0) }
    try finishRemoval(prefix, done.wait())
  }

  /// The same for tasks.
  public func removeAll(withPrefix prefix: String) async throws {
    let result = try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Result<RemoteRevision?, RemoteTierError>, any Error>) in
      do { try removeAll(prefix) { continuation.resume(returning: $0) } } catch { continuation.resume(throwing: error) }
    }
    try finishRemoval(prefix, result)
  }

  /// Removes every entry of the fleet.
  @_disfavoredOverload
  public func removeAll() throws { try removeAll(withPrefix: "") }

  /// Removes every entry of the fleet.
  public func removeAll() async throws { try await removeAll(withPrefix: "") }

  private func removeAll(
    _ prefix: String, completion: @escaping @Sendable (Result<RemoteRevision?, RemoteTierError>) -> Void
  ) throws {
    try checkOpen()
    guard let queue else {
      return RemovalOfAll.run(
        withPrefix: prefix, client, names, configuration.rememberedChanges, completion: completion)
    }
    _ = try queue.add(prefix, .removeAll)
    try removeLocally(prefix)
    sender?.wake()
    completion(.success(nil))
  }

  private func finishRemoval(_ prefix: String, _ result: Result<RemoteRevision?, RemoteTierError>) throws {
    if let revision = try result.get() {
      noteOwn(revision)
      try local.invalidateAll(withPrefix: prefix, below: revision.packed)
    }
  }

  private func removeLocally(_ prefix: String) throws {
    let local = local
    if prefix.isEmpty { try local.removeAll() } else { try local.removeAll(withPrefix: prefix) }
  }

  // MARK: Waiting for the server

  /// Waits until everything that was written before is on the server, and makes the local tiers safe from a power cut.
  ///
  /// - Throws: `.timedOut` if some still waits to be sent when the time is over; it goes on waiting.
  @_disfavoredOverload
  public func flush(timeLimit: Duration = .seconds(10)) throws {
    try checkOpen()
    if let sender {
      let done = Settled<Void>()
      sender.drain(timeLimit: timeLimit) { done.settle(()) }
      done.wait()
    }
    try local.flush()
    try checkSent()
  }

  /// The same for tasks.
  public func flush(timeLimit: Duration = .seconds(10)) async throws {
    try checkOpen()
    await drain(timeLimit: timeLimit)
    try await local.flush()
    try checkSent()
  }

  private func checkSent() throws(RemoteTierError) {
    if let count = queue?.count, count > 0 {
      throw RemoteTierError(.timedOut, "\(count) writes wait to be sent; they are tried again.")
    }
  }
}
