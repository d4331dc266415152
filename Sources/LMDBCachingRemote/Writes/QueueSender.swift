import Dispatch
import Foundation
import LMDBCaching
import Platform
import Synchronization

/// Sends what waits in a ``WriteQueue``, batch by batch, and again until the server has it.
// Sendable: `onSent` and `onGivenUp` are set before anything is sent; the other variables are of the queue `turns`.
final class QueueSender: @unchecked Sendable {
  private static let firstPause: Int64 = 20_000_000
  private static let longestPause: Int64 = 1_000_000_000

  /// How often the server may refuse a write by itself before it is given up.
  private static let attempts = 3

  private let queue: WriteQueue
  private let client: RemoteClient
  private let names: RemoteNames
  private let streamLength: Int
  private let turns = DispatchQueue(label: "LMDBCachingRemote.writes", qos: .userInitiated)
  private let isSending = Atomic<Bool>(false)
  private let isStopped = Atomic<Bool>(false)
  // In `turns` only.
  private var pause = firstPause
  /// Whether the batch is sent write by write, since the server refuses one of them.
  private var isSingle = false
  private var refusals = 0
  /// Called with each revision that is the server's.
  var onSent: @Sendable (RemoteRevision) -> Void = { _ in }
  /// Called with each write that is given up, since the server refuses it.
  var onGivenUp: @Sendable (WriteQueue.Item, RemoteTierError) -> Void = { _, _ in }

  init(
    _ queue: WriteQueue, _ client: RemoteClient, _ names: RemoteNames, _ configuration: DistributedCacheConfiguration
  ) {
    self.queue = queue
    self.client = client
    self.names = names
    streamLength = configuration.rememberedChanges
  }

  func stop() { isStopped.store(true, ordering: .releasing) }

  /// To be called after a write was added, and when the server can be reached again.
  func wake() {
    if isSending.exchange(true, ordering: .acquiringAndReleasing) { return }
    turns.async { [self] in sendNext() }
  }

  /// Calls `body` when nothing waits, or the time is over.
  func drain(timeLimit: Duration, _ body: @escaping @Sendable () -> Void) {
    let isDone = Atomic<Bool>(false)
    let done: @Sendable () -> Void = {
      if !isDone.exchange(true, ordering: .acquiringAndReleasing) { body() }
    }
    queue.whenEmpty(done)
    wake()
    DispatchQueue.global().asyncAfter(
      deadline: .now() + .nanoseconds(Int(max(0, timeLimit.clampedNanoseconds))), execute: done)
  }

  private func sendNext() {
    if isStopped.load(ordering: .acquiring) { return isSending.store(false, ordering: .releasing) }
    let batch = nextBatch()
    guard let first = batch.first else {
      isSending.store(false, ordering: .releasing)
      // What was added since may have found it sending.
      if queue.count > 0 { wake() }
      return
    }
    if first.isRemovalOfAll {
      RemovalOfAll.run(withPrefix: first.key, client, names, streamLength) { [self] result in
        settle(batch, result.map { [$0] })
      }
      return
    }
    client.send(batch.map(command), .write) { [self] result in
      settle(batch, result.map { replies in replies.map { RemoteEntry.revision(ofScript: $0) } })
    }
  }

  private func nextBatch() -> [WriteQueue.Item] {
    let batch = queue.unsettledBatch
    if batch.isEmpty {
      isSingle = false
      return queue.nextBatch()
    }
    return isSingle ? Array(batch.prefix(1)) : batch
  }

  private func command(_ item: WriteQueue.Item) -> RemoteCommand {
    let keys = [names.entry(item.key), names.changes, names.lease(item.key), names.queue(queue.identifier)]
    if case .set(let entry) = item.write {
      let life = entry.millisecondsToLive
      if life != nil && life == 0 {
        return RemoteScript.remove.command(keys: keys, item.key, streamLength, item.number)
      }
      return RemoteScript.set.command(
        keys: keys, item.key, streamLength, item.number, entry.record, life ?? 0)
    }
    return RemoteScript.remove.command(keys: keys, item.key, streamLength, item.number)
  }

  private func settle(_ batch: [WriteQueue.Item], _ result: Result<[RemoteRevision?], RemoteTierError>) {
    turns.async { [self] in
      switch result {
      case .success(let revisions):
        for revision in revisions { if let revision { onSent(revision) } }
        didSettle(revisions)
      case .failure(let error) where error.code == .failed: didRefuse(batch, error)
      case .failure:
        // Numbers keep it from having an effect twice.
        sendLater()
      }
    }
  }

  private func didSettle(_ revisions: [RemoteRevision?]) {
    pause = Self.firstPause
    refusals = 0
    queue.settle(revisions)
    sendNext()
  }

  /// The server answers, and refuses one of the writes.
  private func didRefuse(_ batch: [WriteQueue.Item], _ error: RemoteTierError) {
    guard batch.count == 1 else {
      isSingle = true
      return sendNext()
    }
    refusals += 1
    if refusals < Self.attempts { return sendLater() }
    onGivenUp(batch[0], error)
    didSettle([nil])
  }

  private func sendLater() {
    let delay = pause
    pause = min(pause * 2, Self.longestPause)
    turns.asyncAfter(deadline: .now() + .nanoseconds(Int(delay))) { [self] in sendNext() }
  }
}

extension PortableEntry {
  /// How long it lives from now on; `nil` for ever, 0: not at all.
  var millisecondsToLive: Int? {
    if expires == 0 { return nil }
    let rest = expires.subtractingReportingOverflow(RealTimeClock.nanoseconds)
    if rest.overflow { return expires > 0 ? Int.max / 1_000_000 : 0 }
    return rest.partialValue <= 0 ? 0 : Int(rest.partialValue / 1_000_000) + 1
  }
}
