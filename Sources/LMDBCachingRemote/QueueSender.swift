import Dispatch
import Foundation
import LMDBCaching
import Platform
import Synchronization

/// Sends what waits in a ``WriteQueue``, batch by batch, and again until the server has it; then gives it to the local
/// tiers.
// Sendable: `owner` is set before anything is sent; `pause` and what follows are of the queue `turns`.
final class QueueSender: @unchecked Sendable {
  private static let firstPause: Int64 = 20_000_000
  private static let longestPause: Int64 = 1_000_000_000

  /// How often the server may refuse a write by itself before it is given up.
  private static let attempts = 3

  private let queue: WriteQueue
  private let client: RemoteClient
  private let names: RemoteNames
  /// Whose clock the expiries are by.
  private let local: LMDBCache
  private let streamLength: Int
  weak var owner: DistributedCache?
  /// What processes that have ended left, which is older than all that this queue is given: it goes first. Set before
  /// anything is sent.
  var predecessors: [WriteQueue] = []
  private let turns = DispatchQueue(label: "LMDBCachingRemote.writes", qos: .userInitiated)
  private let removals = DispatchQueue(label: "LMDBCachingRemote.removals", qos: .utility)
  private let isSending = Atomic<Bool>(false)
  private let isStopped = Atomic<Bool>(false)

  private var pause = firstPause
  /// The batch that is not settled, and how things stood with its keys before it was sent for the first time.
  private var batch: [WriteQueue.Item] = []
  private var watches: [KeyWatch?] = []
  /// Whether the batch is sent write by write, since the server refuses one of them.
  private var isSingle = false
  private var refusals = 0

  init(_ queue: WriteQueue, _ client: RemoteClient, _ names: RemoteNames, _ local: LMDBCache, streamLength: Int) {
    self.queue = queue
    self.client = client
    self.names = names
    self.local = local
    self.streamLength = streamLength
  }

  func stop() { isStopped.store(true, ordering: .releasing) }

  /// To be called after a write was added, and when the server can be reached again.
  func wake() {
    if isSending.load(ordering: .acquiring) || isSending.exchange(true, ordering: .acquiringAndReleasing) { return }
    turns.async { [self] in sendNext() }
  }

  /// Calls `body` when nothing waits, or the time is over.
  func drain(timeLimit: Duration, _ body: @escaping @Sendable () -> Void) {
    let waiter = queue.whenEmpty(body)
    if waiter == 0 { return }
    wake()
    turns.asyncAfter(deadline: .now() + .nanoseconds(Int(max(0, timeLimit.clampedNanoseconds)))) { [weak queue] in
      queue?.removeWaiter(waiter)?()
    }
  }

  // MARK: In turns

  private func sendNext() {
    if isStopped.load(ordering: .acquiring) { return isSending.store(false, ordering: .releasing) }
    if batch.isEmpty {
      if let first = predecessors.first(where: { $0.count > 0 }) {
        // Reads find what waits here meanwhile.
        _ = first.whenEmpty { [weak self] in self?.turns.async { [weak self] in self?.sendNext() } }
        return
      }
      predecessors = []
      batch = queue.nextBatch()
      watches = batch.map { owner?.watch($0) }
      isSingle = false
    }
    guard let first = batch.first else {
      isSending.store(false, ordering: .sequentiallyConsistent)
      // What was added since may have found it sending.
      if queue.count > 0 { wake() }
      return
    }
    if first.isRemovalOfAll {
      var removal = RemovalOfAll(prefix: first.key, client: client, names: names, streamLength: streamLength)
      removal.queue = (queue.identifier, first.number)
      return removals.async { [self, removal] in
        let result = Result { () throws(RemoteTierError) in
          try LoadCaller.wait { (caller) async throws(RemoteTierError) in try await removal.run(caller) }
        }
        turns.async { [self] in
          switch result {
          case .success(let revision): didSend([revision], nil)
          case .failure(let error): didFail(error)
          }
        }
      }
    }
    var writes = WriteBatch(queue: names.queue(queue.identifier), names, streamLength: streamLength)
    let now = local.now
    for item in isSingle ? batch.prefix(1) : batch[...] {
      let entry: PortableEntry? = if case .set(let entry) = item.write { entry } else { nil }
      writes.add(item.key, entry, at: now, number: item.number)
    }
    let count = writes.count
    client.send([writes.command], .write, judge: { WriteBatch.outcomes(of: $0[0], count: count).failure }) {
      [self] result in
      turns.async { [self] in
        switch result {
        case .success(let replies):
          let (made, failure) = WriteBatch.outcomes(of: replies[0], count: count)
          didSend(
            made.map { outcome in if case .written(let revision) = outcome { revision } else { nil } }, failure)
        case .failure(let error): didFail(error)
        }
      }
    }
  }

  /// The server has the first writes of the batch.
  private func didSend(_ revisions: [RemoteRevision?], _ failure: RemoteTierError?) {
    owner?.didSend(revisions.indices.map { (batch[$0], watches[$0], revisions[$0]) })
    didSettle(revisions.count)
    if !revisions.isEmpty {
      pause = Self.firstPause
      refusals = 0
    }
    if let failure { didFail(failure) } else { sendNext() }
  }

  private func didSettle(_ count: Int) {
    // First: who finds nothing in the queue finds it in the local tiers.
    queue.settle(count)
    batch.removeFirst(count)
    watches.removeFirst(count)
  }

  /// Numbers keep what is sent again from having an effect twice.
  private func didFail(_ error: RemoteTierError) {
    guard error.isAboutOneRequest, !batch.isEmpty else { return sendLater() }
    // The server answers, and refuses one of the writes.
    if batch.count > 1, !isSingle {
      isSingle = true
      return sendNext()
    }
    refusals += 1
    if refusals < Self.attempts { return sendLater() }
    refusals = 0
    owner?.didGiveUp(batch[0], watches[0], error)
    didSettle(1)
    sendNext()
  }

  private func sendLater() {
    let delay = pause
    pause = min(pause * 2, Self.longestPause)
    turns.asyncAfter(deadline: .now() + .nanoseconds(Int(delay))) { [self] in sendNext() }
  }
}

/// Removes the fleet's entries whose keys begin so.
///
/// It takes a revision, removes page by page what is older, and then tells the fleet. What is written meanwhile is
/// newer, and stays on the server. Until the fleet is told machines may go on to serve what is being removed; after
/// that nothing old is left that they could find. If another server takes the place of the one that was asked, it
/// begins anew. One of a queue that is sent again goes on with the revision that it had, and is not made twice.
struct RemovalOfAll: Sendable {
  private static let pageLength = 512
  /// How often it begins anew with another server, before it takes the address for one of several servers.
  private static let changesLimit = 8

  let prefix: String
  let client: RemoteClient
  let names: RemoteNames
  let streamLength: Int
  /// Of a queue.
  var queue: (identifier: String, number: Int)?

  private var keys: [Data] {
    var keys = [names.changes]
    if let queue { keys += [names.queue(queue.identifier), names.removal(queue.identifier)] }
    return keys.map(\.bytes)
  }

  private var number: [Data] { queue.map { [$0.number.bytes] } ?? [] }

  /// - Returns: The revision of the change that tells the fleet; `nil`: it was told before.
  func run(_ caller: LoadCaller) async throws(RemoteTierError) -> RemoteRevision? {
    let begin = RemoteScript.beginRemoval.command(keys: keys, arguments: [streamLength.bytes] + number)
    guard let revision = try Self.revision(try await client.send([begin], .write, caller)[0]) else { return nil }
    for _ in 0...Self.changesLimit {
      // What the server says of itself, which another one that takes its place does not; empty: it does not say.
      var server: Data?
      let patterns = names.patterns(ofKeysWithPrefix: prefix)
      guard try await remove(patterns.leases, revision, &server, caller),
        try await remove(patterns.entries, revision, &server, caller)
      else { continue }
      // Only the server that all pages were removed on may tell the fleet: one that takes its place may have some of
      // them.
      let end = RemoteScript.endRemoval.command(
        keys: keys, arguments: [streamLength.bytes, prefix.bytes, server ?? Data()] + number)
      let reply = try await client.send([end], .write, caller)[0]
      if reply != .bytes(RemoteScript.anotherServer) { return try Self.revision(reply) }
    }
    throw RemoteTierError(
      .unreachable,
      "Another server answered again and again while entries were being removed: the address has to lead to one primary."
    )
  }

  /// Removes what is older than the revision, page by page.
  ///
  /// - Returns: `false` if another server has answered: a cursor means something to the server that gave it, and to no
  ///   other, nor to itself after a restart.
  private func remove(
    _ pattern: String, _ revision: RemoteRevision, _ server: inout Data?, _ caller: LoadCaller
  ) async throws(RemoteTierError) -> Bool {
    let bound = revision.text.split(separator: "-").map { Data($0.utf8) }
    var cursor = Data("0".utf8)
    repeat {
      let scan = RemoteCommand("SCAN", cursor, "MATCH", pattern, "COUNT", Self.pageLength)
      let replies = try await client.send([RemoteScript.identity.command(keys: []), scan], .write, caller)
      guard case .bytes(let name) = replies[0] else {
        throw RemoteTierError(.failed, "A script returned no name of its server.")
      }
      if let server, server != name { return false }
      server = name
      guard case .array(let parts) = replies[1], parts.count == 2, case .bytes(let next) = parts[0],
        case .array(let found) = parts[1]
      else { throw RemoteTierError(.failed, "SCAN returned something else.") }
      let keys: [Data] = found.compactMap { if case .bytes(let key) = $0 { key } else { nil } }
      if !keys.isEmpty {
        _ = try await client.send([RemoteScript.removeOlder.command(keys: keys, arguments: bound)], .write, caller)
      }
      cursor = next
    } while cursor != Data("0".utf8)
    return true
  }

  /// A script returns a revision, or nothing if what it was to do was done before.
  private static func revision(_ reply: RemoteReply) throws(RemoteTierError) -> RemoteRevision? {
    if reply == .bytes(Data()) { return nil }
    guard case .bytes(let text) = reply, let revision = RemoteRevision(text) else {
      throw RemoteTierError(.failed, "A script returned no revision.")
    }
    return revision
  }
}
