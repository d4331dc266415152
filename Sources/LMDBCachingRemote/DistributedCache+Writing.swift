public import Foundation
import LMDBCaching

extension DistributedCache {
  /// Stores a value under `key` for the whole fleet.
  ///
  /// - Parameters:
  ///   - expiresIn: How long the entry lives. `nil` for ever; zero or less, not at all.
  ///   - cost: What it counts for against the limits of each machine's tiers; `nil` for its size in bytes.
  /// - Throws: ``RemoteTierError`` if the server does not acknowledge it, or the queue is full; as
  ///   `LMDBCache.set(_:forKey:expires:cost:tags:)` otherwise. A server that is full, refuses the write or is not asked
  ///   leaves everything as it is, and so does a want of connections. After any other error of it the key is in no local
  ///   tier: whether the fleet sees the new value or the old one is not known.
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

  /// Stores an object under `key` for the whole fleet, or with `nil` removes what is there.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``.
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

  /// Removes the entry under `key` from the whole fleet.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``.
  @_disfavoredOverload
  public func removeValue(forKey key: String) throws { try write([FleetWrite(key: key, entry: nil)]) }

  /// Removes the entry under `key` from the whole fleet, without blocking a thread.
  public func removeValue(forKey key: String) async throws { try await write([FleetWrite(key: key, entry: nil)]) }

  /// Stores values for the whole fleet, with one request to the server. Each is a write of its own.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; some may be stored then.
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

  /// Removes entries from the whole fleet, with one request to the server.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; some may be removed then.
  @_disfavoredOverload
  public func removeValues(forKeys keys: some Sequence<String>) throws {
    try write(keys.map { FleetWrite(key: $0, entry: nil) })
  }

  /// Removes entries from the whole fleet, without blocking a thread.
  public func removeValues(forKeys keys: some Sequence<String>) async throws {
    try await write(keys.map { FleetWrite(key: $0, entry: nil) })
  }

  // MARK: One write

  private struct FleetWrite: Sendable {
    let key: String
    /// `nil` for a removal.
    let entry: PortableEntry?
  }

  private func archived<V: Codable & Sendable>(
    _ value: V, _ key: String, _ expiresIn: Duration?, _ cost: Int?
  ) throws -> FleetWrite {
    try checkOpen()
    let expires = expiresIn.map(local.expiry(after:)) ?? 0
    return FleetWrite(
      key: key, entry: try local.archive(value, forKey: key, expires: expires, cost: cost, tags: []))
  }

  private func archived(
    _ object: (any NSCoding)?, _ key: String, _ expiresIn: Duration?, _ cost: Int?
  ) throws -> FleetWrite {
    try checkOpen()
    let expires = expiresIn.map(local.expiry(after:)) ?? 0
    return FleetWrite(
      key: key, entry: try object.map { try local.archiveObject($0, forKey: key, expires: expires, cost: cost) })
  }

  private func write(_ writes: [FleetWrite]) throws {
    if try !enqueue(writes) { try LoadCaller.wait { try await self.send(writes, $0) } }
  }

  private func write(_ writes: [FleetWrite]) async throws {
    if try !enqueue(writes) { try await send(writes, LoadCaller()) }
  }

  private func send(_ writes: [FleetWrite], _ caller: LoadCaller) async throws {
    let request = request(writes)
    defer { for write in writes { news.end(write.key) } }
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try await client.send(request.commands, .write, caller, judge: request.failure(in:))
    } catch {
      try forget(writes, error)
      throw error
    }
    try didWrite(writes, request, replies)
  }

  /// What is sent at once: each of its commands makes some of the writes.
  private struct WriteRequest: Sendable {
    var commands: [RemoteCommand] = []
    /// How many writes each command makes.
    var counts: [Int] = []
    /// Of each write.
    var watches: [KeyWatch] = []

    /// Why some were not made.
    @Sendable func failure(in replies: [RemoteReply]) -> RemoteTierError? {
      zip(replies, counts).lazy.compactMap { WriteBatch.outcomes(of: $0, count: $1).failure }.first
    }
  }

  private func request(_ writes: [FleetWrite]) -> WriteRequest {
    var request = WriteRequest()
    request.watches = writes.map { local.watchWrite($0.key, news) }
    var batch = WriteBatch(queue: nil, names, streamLength: configuration.rememberedChanges)
    var keys: Set<ByteKey> = []
    let now = local.now
    func finish() {
      request.commands.append(batch.command)
      request.counts.append(batch.count)
      batch = WriteBatch(queue: nil, names, streamLength: configuration.rememberedChanges)
      keys.removeAll(keepingCapacity: true)
    }
    for write in writes {
      // A batch makes sets, then removals: a key is in it once.
      if batch.isFull || keys.contains(ByteKey(write.key)) { finish() }
      keys.insert(ByteKey(write.key))
      batch.add(write.key, write.entry, at: now)
    }
    finish()
    return request
  }

  /// After an error: which value the fleet will see is not known, unless nothing was done.
  private func forget(_ writes: [FleetWrite], _ error: RemoteTierError) throws {
    if error.isWithoutEffect, writes.count == 1 || error.code == .suspended || error.code == .busy { return }
    for write in writes { try local.removeValue(forKey: write.key) }
  }

  /// - Throws: Why some were not made.
  private func didWrite(_ writes: [FleetWrite], _ request: WriteRequest, _ replies: [RemoteReply]) throws {
    var start = 0
    var failure: RemoteTierError?
    for (reply, count) in zip(replies, request.counts) {
      let (made, error) = WriteBatch.outcomes(of: reply, count: count)
      for (index, outcome) in made.enumerated() {
        guard case .written(let revision) = outcome else { continue }
        try didWrite(writes[start + index], revision, request.watches[start + index])
      }
      // An answer that is none says nothing of the others.
      if let error, !error.isWithoutEffect {
        try forget(Array(writes[start..<start + count].dropFirst(made.count)), error)
      }
      failure = failure ?? error
      start += count
    }
    if let failure { throw failure }
  }

  private func didWrite(_ write: FleetWrite, _ revision: RemoteRevision, _ watch: KeyWatch) throws(CacheError) {
    follower.note(revision)
    if let entry = write.entry, try store(entry, revision, watch) { return }
    // Removed, or there is something newer.
    try local.invalidate(write.key, below: revision.packed, news)
  }

  // MARK: Behind

  /// Adds writes to the queue, if they go behind.
  ///
  /// - Returns: Whether there is nothing left to send.
  private func enqueue(_ writes: [FleetWrite]) throws -> Bool {
    try checkOpen()
    guard let queue else { return writes.isEmpty }
    defer { sender?.wake() }
    for write in writes {
      if let entry = write.entry {
        try queue.add(write.key, .set(entry))
      } else {
        try queue.add(write.key, .remove)
        // After that: what is loaded from now on is not of the time before.
        try local.removeValue(forKey: write.key)
      }
    }
    return true
  }

  // MARK: Many

  /// Removes every entry of the fleet whose key starts with `prefix`, byte for byte; by default, all.
  ///
  /// The server is looked through page by page, which takes as long as it has keys, of this fleet or others. What is
  /// written meanwhile stays. Other machines serve what they have until it is done.
  ///
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``; part of them may be removed then.
  @_disfavoredOverload
  public func removeAll(withPrefix prefix: String = "") throws {
    try LoadCaller.wait { try await self.removeAll(prefix, $0) }
  }

  /// Removes every entry of the fleet whose key starts with `prefix`, without blocking a thread.
  public func removeAll(withPrefix prefix: String = "") async throws { try await removeAll(prefix, LoadCaller()) }

  private func removeAll(_ prefix: String, _ caller: LoadCaller) async throws {
    try checkOpen()
    if let queue {
      try queue.add(prefix, .removeAll)
      sender?.wake()
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
