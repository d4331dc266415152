import Dispatch
import Foundation
import LMDBCaching
import Platform
import Synchronization

/// Sends what waits in a ``WriteQueue``, batch by batch, and again until the server has it; then gives it to the local
/// tiers.
// Sendable: `owner` is set before anything is sent; `pause` and what follows are of the queue `turns`.
final class QueueSender: @unchecked Sendable {
  /// What becomes of writes.
  protocol Owner: AnyObject, Sendable {
    /// Before a write is sent.
    func watch(_ item: WriteQueue.Item) -> KeyWatch?
    /// The server has writes, each with its revision if that is known.
    func didSend(_ writes: [(item: WriteQueue.Item, watch: KeyWatch?, revision: RemoteRevision?)])
    /// A write was given up, since the server refuses it.
    func didGiveUp(_ item: WriteQueue.Item, _ watch: KeyWatch?, _ error: RemoteTierError)
  }

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
  weak var owner: (any Owner)?
  /// What processes that have ended left, which is older than all that this queue is given: it goes first. Set before
  /// anything is sent.
  var predecessors: [WriteQueue] = []
  private let turns = DispatchQueue(label: "LMDBCachingRemote.writes", qos: .userInitiated)
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
    // The timer outlives what it is for, and must not keep that alive.
    let once = Once(body)
    let done: @Sendable () -> Void = { once.call() }
    let waiter = queue.whenEmpty(done)
    if waiter == 0 { return }
    wake()
    turns.asyncAfter(deadline: .now() + .nanoseconds(Int(max(0, timeLimit.clampedNanoseconds)))) { [weak queue] in
      queue?.forget(waiter: waiter)
      done()
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
      removal.run { [self] result in
        turns.async { [self] in
          switch result {
          case .success(let revision): didSend([revision], nil)
          case .failure(let error): didFail(error)
          }
        }
      }
      return
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
