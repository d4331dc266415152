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
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``.
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
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``.
  @_disfavoredOverload
  public func removeValue(forKey key: String) throws { try write(.remove(key)) }

  /// The same for tasks.
  public func removeValue(forKey key: String) async throws { try await write(.remove(key)) }

  /// Stores values for the whole fleet, with one request to the server. Each is a write of its own.
  ///
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``; some may be stored then.
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
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``; some may be removed then.
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
    guard let queue else { return try write([single]) }
    try enqueue(single, queue)
    sender?.wake()
  }

  private func write(_ single: FleetWrite) async throws {
    guard let queue else { return try await write([single]) }
    try enqueue(single, queue)
    sender?.wake()
  }

  private func write(_ writes: [FleetWrite]) throws {
    try checkOpen()
    if writes.isEmpty { return }
    if let queue { return try enqueue(writes, queue) }
    let request = request(writes)
    defer { for write in writes { news.end(write.key) } }
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try client.sendAndWait(request.commands, .write, judge: request.failure(in:))
    } catch {
      try forget(writes, error)
      throw error
    }
    try didWrite(writes, request, replies)
  }

  private func write(_ writes: [FleetWrite]) async throws {
    try checkOpen()
    if writes.isEmpty { return }
    if let queue { return try enqueue(writes, queue) }
    let request = request(writes)
    defer { for write in writes { news.end(write.key) } }
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try await client.send(request.commands, .write, judge: request.failure(in:))
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
      let entry: PortableEntry? = if case .set(let entry) = write { entry } else { nil }
      batch.add(write.key, entry, at: now)
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
    if case .set(let entry) = write, try store(entry, revision, watch) { return }
    // Removed, or there is something newer.
    try local.invalidate(write.key, below: revision.packed, news)
  }

  // MARK: Behind

  private func enqueue(_ writes: [FleetWrite], _ queue: WriteQueue) throws {
    defer { sender?.wake() }
    for write in writes { try enqueue(write, queue) }
  }

  private func enqueue(_ write: FleetWrite, _ queue: WriteQueue) throws {
    switch write {
    case .set(let entry): try queue.add(entry.key, .set(entry))
    case .remove(let key):
      try queue.add(key, .remove)
      // After that: what is loaded from now on is not of the time before.
      try local.removeValue(forKey: key)
    }
  }

  // MARK: Many

  /// Removes every entry of the fleet whose key starts with `prefix`, byte for byte.
  ///
  /// The server is looked through page by page, which takes as long as it has keys, of this fleet or others. What is
  /// written meanwhile stays. Other machines serve what they have until it is done.
  ///
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``; part of them may be removed then.
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
      return RemovalOfAll(
        prefix: prefix, client: client, names: names, streamLength: configuration.rememberedChanges
      ).run(completion)
    }
    try queue.add(prefix, .removeAll)
    sender?.wake()
    try removeLocally(prefix)
    completion(.success(nil))
  }

  private func finishRemoval(_ prefix: String, _ result: Result<RemoteRevision?, RemoteTierError>) throws {
    if let revision = try result.get() {
      follower.note(revision)
      try local.invalidateAll(withPrefix: prefix, below: revision.packed, news)
    }
  }

  func removeLocally(_ prefix: String) throws(CacheError) {
    if prefix.isEmpty { try local.removeAll() } else { try local.removeAll(.prefix(prefix)) }
  }
}
