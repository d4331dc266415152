import Dispatch
import LMDBCaching
import Logging
import Synchronization

extension DistributedCache {
  /// Waits until everything that was written before is on the server, and makes the local tiers safe from a power cut.
  ///
  /// - Throws: ``RemoteTierError`` with `.timedOut` if some still waits to be sent when the time is over, which goes on
  ///   waiting, or `.closed`; what `LMDBCache.flush()` throws.
  @_disfavoredOverload
  public func flush(timeLimit: Duration = .seconds(10)) throws {
    try checkOpen()
    waitForQueues(timeLimit)
    try local.flush()
    try checkSent()
  }

  /// The same for tasks.
  public func flush(timeLimit: Duration = .seconds(10)) async throws {
    try checkOpen()
    await drain(timeLimit)
    try await local.flush()
    try checkSent()
  }

  private var waiting: Int { servedQueues.reduce(0) { $0 + $1.queue.count } }

  private func checkSent() throws(RemoteTierError) {
    let count = waiting
    if count > 0 { throw RemoteTierError(.timedOut, "\(count) writes wait to be sent; they are tried again.") }
  }

  /// Ends the use of the server: what waits to be sent is sent first, for as long as `timeLimit`, and nothing else is
  /// taken.
  ///
  /// The local cache stays open, and is read by itself from then on: nobody tells it any more what other machines
  /// change. The remote tier is closed, also for whoever else was given it.
  ///
  /// - Returns: How many writes could not be sent, and are lost; those that are kept in a folder are sent by the next
  ///   process
  ///   that is given it.
  @_disfavoredOverload @discardableResult
  public func close(timeLimit: Duration = .seconds(5)) -> Int {
    if !beginClosing() { return 0 }
    waitForQueues(timeLimit)
    return didDrain()
  }

  /// The same for tasks.
  @discardableResult
  public func close(timeLimit: Duration = .seconds(5)) async -> Int {
    if !beginClosing() { return 0 }
    await drain(timeLimit)
    return await withCheckedContinuation { continuation in
      // It waits for the disk.
      work.async { [self] in continuation.resume(returning: didDrain()) }
    }
  }

  private func beginClosing() -> Bool {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return false }
    gate.set(.closed, true)
    // What a writer was just told is taken is sent.
    for (queue, _) in servedQueues { queue.seal() }
    return true
  }

  private func didDrain() -> Int {
    let left = waiting
    metrics?.record(statistics, health)
    metrics?.end()
    stop()
    if left > 0 { local.log(.error, "writes were not sent to the remote tier", ["writes": "\(left)"]) }
    return left
  }

  private func waitForQueues(_ timeLimit: Duration) {
    let done = DispatchSemaphore(value: 0)
    drain(timeLimit) { done.signal() }
    done.wait()
  }

  private func drain(_ timeLimit: Duration) async {
    await withCheckedContinuation { continuation in drain(timeLimit) { continuation.resume() } }
  }

  private func drain(_ timeLimit: Duration, _ done: @escaping @Sendable () -> Void) {
    let group = DispatchGroup()
    for (_, sender) in servedQueues {
      group.enter()
      sender.drain(timeLimit: timeLimit) { group.leave() }
    }
    group.notify(queue: work, execute: done)
  }
}
