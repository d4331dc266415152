import Dispatch
import Foundation
import LMDBCaching
import Platform
import Synchronization

/// Sends the writes of a ``WriteQueue`` batch by batch until the server has them; then gives them to the local tiers.
// Sendable: `owner` is set before anything is sent; `pause` and what follows are of the queue `turns`.
final class QueueSender: @unchecked Sendable {
  private static let firstPause: Int64 = 20_000_000
  private static let longestPause: Int64 = 1_000_000_000

  /// How often the server may refuse a write by itself before it is given up.
  private static let attempts = 3

  let queue: WriteQueue
  private let client: RemoteClient
  private let names: RemoteNames
  private let local: LMDBCache
  private let streamLength: Int
  weak var owner: DistributedCache?
  /// The older queues of ended processes, which go first. Set before anything is sent.
  var predecessors: [WriteQueue] = []
  private let turns = DispatchQueue(label: "LMDBCachingRemote.writes", qos: .userInitiated)
  private let removals = DispatchQueue(label: "LMDBCachingRemote.removals", qos: .utility)
  private let isSending = Atomic<Bool>(false)
  private let isStopped = Atomic<Bool>(false)

  private var pause = firstPause
  /// The unsettled batch, and the state of its keys before it was first sent.
  private var batch: [(item: WriteQueue.Item, watch: KeyWatch?)] = []
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

  func wake() {
    if isSending.load(ordering: .acquiring) || isSending.exchange(true, ordering: .acquiringAndReleasing) { return }
    turns.async { [self] in sendNext() }
  }

  /// Calls `body` when nothing waits, or the time is over.
  func drain(until end: Int64, _ body: @escaping @Sendable () -> Void) {
    if queue.count == 0 || MonotonicClock.nanoseconds >= end { return body() }
    wake()
    turns.asyncAfter(deadline: .now() + .milliseconds(1)) { [self] in drain(until: end, body) }
  }

  private func sendNext() {
    if isStopped.load(ordering: .acquiring) { return isSending.store(false, ordering: .releasing) }
    if batch.isEmpty {
      if predecessors.contains(where: { $0.count > 0 }) { return sendLater() }
      pause = Self.firstPause
      predecessors = []
      batch = queue.nextBatch().map { ($0, owner?.watch($0)) }
      isSingle = false
    }
    guard let first = batch.first?.item else {
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
    for (item, _) in isSingle ? batch.prefix(1) : batch[...] {
      writes.add(item.key, item.entry, at: now, number: item.number)
    }
    let count = writes.count
    client.send([writes.command], .write, judge: { WriteBatch.outcomes(of: $0[0], count: count).failure }) {
      [self] result in
      turns.async { [self] in
        switch result {
        case .success(let replies):
          let (made, failure) = WriteBatch.outcomes(of: replies[0], count: count)
          didSend(made, failure)
        case .failure(let error): didFail(error)
        }
      }
    }
  }

  private func didSend(_ revisions: [RemoteRevision?], _ failure: RemoteTierError?) {
    owner?.didSend(zip(batch, revisions).map { ($0.item, $0.watch, $1) })
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
  }

  /// Numbers keep what is sent again from having an effect twice.
  private func didFail(_ error: RemoteTierError) {
    guard error.isAboutOneRequest, !batch.isEmpty else { return sendLater() }
    if batch.count > 1, !isSingle {
      isSingle = true
      return sendNext()
    }
    refusals += 1
    if refusals < Self.attempts { return sendLater() }
    refusals = 0
    owner?.didGiveUp(batch[0].item, batch[0].watch, error)
    didSettle(1)
    sendNext()
  }

  private func sendLater() {
    let delay = pause
    pause = min(pause * 2, Self.longestPause)
    turns.asyncAfter(deadline: .now() + .nanoseconds(Int(delay))) { [self] in sendNext() }
  }
}

/// Removes the fleet's entries whose keys have a prefix: takes a revision, removes all older entries page by page, then
/// tells the fleet. Later writes stay. Begins again if another server takes over. A queue's removal that is sent again
/// keeps its revision, and is made once.
struct RemovalOfAll: Sendable {
  private static let pageLength = 512
  /// How often it begins again before the address counts as several servers'.
  private static let changesLimit = 8

  let prefix: String
  let client: RemoteClient
  let names: RemoteNames
  let streamLength: Int
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
      var server = Data("-".utf8)
      let patterns = names.patterns(ofKeysWithPrefix: prefix)
      guard try await remove(patterns.leases, revision, &server, caller),
        try await remove(patterns.entries, revision, &server, caller)
      else { continue }
      // Another server may have some of the entries.
      let end = RemoteScript.endRemoval.command(
        keys: keys, arguments: [streamLength.bytes, prefix.bytes, server] + number)
      let reply = try await client.send([end], .write, caller)[0]
      if reply != .bytes(RemoteScript.anotherServer) { return try Self.revision(reply) }
    }
    throw RemoteTierError(
      .unreachable,
      "Another server answered again and again while entries were being removed: the address has to lead to one primary."
    )
  }

  /// Removes what is older than the revision, page by page. Returns `false` if another server has answered.
  private func remove(
    _ pattern: String, _ revision: RemoteRevision, _ server: inout Data, _ caller: LoadCaller
  ) async throws(RemoteTierError) -> Bool {
    let bound = revision.text.split(separator: "-").map { Data($0.utf8) }
    var cursor = Data("0".utf8)
    repeat {
      let page = RemoteScript.removePage.command(
        keys: [names.changes.bytes], arguments: [server, cursor, pattern.bytes, Self.pageLength.bytes] + bound)
      let reply = try await client.send([page], .write, caller)[0]
      if case .null = reply { return false }
      guard case .array(let parts) = reply, parts.count == 2, case .bytes(let name) = parts[0],
        case .bytes(let next) = parts[1]
      else { throw RemoteTierError(.failed, "A script returned something else.") }
      (server, cursor) = (name, next)
    } while cursor != Data("0".utf8)
    return true
  }

  private static func revision(_ reply: RemoteReply) throws(RemoteTierError) -> RemoteRevision? {
    if reply == .bytes(Data()) { return nil }
    if let revision = RemoteEntry.revision(ofScript: reply) { return revision }
    throw RemoteTierError(.failed, "A script returned no revision.")
  }
}
