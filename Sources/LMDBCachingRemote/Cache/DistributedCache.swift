import Dispatch
import Foundation
public import LMDBCaching
import Logging
import Metrics
import Platform
import Synchronization

/// A cache of a fleet of machines: memory and disk of this one, a Redis or Valkey server that all of them share, and the
/// loader behind that.
///
/// ```swift
/// let tier = try RedisTier(RedisConfiguration(host: "10.0.0.5"))
/// let cache = try DistributedCache(local: try LMDBCache(name: "pages"), remote: tier)
/// let page = try await cache.value(Page.self, forKey: "front") { _ in try await render() }
/// ```
///
/// A read looks into memory, on the disk, and on the server; what it finds there it keeps in both local tiers, with what is
/// left of its time to live. A write goes to the server and to the local tiers, and the other machines forget what they
/// have under the key.
///
/// **How old a read may be.** The server keeps a list of the last changes, in the order in which they were made, and every
/// process reads it all the time. What another machine has acknowledged is seen as soon as that entry arrives, which takes
/// about a round trip, and 1.1 seconds at most with the defaults: if nothing arrives for that long, this process is *out of
/// touch*. Then local values are served until they expire, or for
/// ``DistributedCacheConfiguration/servesUnheardFor``. When there is touch again, the list is read on where it was left;
/// if it does not reach back so far, or the server was emptied or lost writes at a fail-over, every local entry is held
/// against the server before it is served. So it is at the beginning: what the directory holds from before is checked,
/// each entry when it is first read, and all of them in the background. A process that was suspended may serve what it has
/// until it has read the list again.
///
/// **Writes.** A write that returned is on the server (``DistributedCacheConfiguration/WriteMode/through``), or in the local
/// tiers and in a queue (``DistributedCacheConfiguration/WriteMode/behind(limit:keptIn:)``). A thread that reads after it has
/// written sees what it wrote, or what somebody wrote after it.
///
/// **When the server fails.** Local hits go on at full speed. Reads of what is nowhere else find nothing, and loads are made
/// here. A write-through throws, and what the local tiers have under the key goes, since nobody knows which value the others
/// will see. After several failures in a row the server is not asked for a while.
///
/// **Metrics.** ``health`` and ``statistics`` tell how it is. If a metrics system was installed before the cache is made, it
/// is told the same every 10 seconds, and the time of each request, as `lmdb_cache_remote_…`.
///
/// **Threads.** Any. The functions that are not asynchronous wait; in tasks the others are chosen.
///
/// What the server is given are archived records with their checksums, after the value transforms of the local cache:
/// with encryption it never sees plain text, but keys. The clocks of the machines have to agree: an entry expires at a time
/// of day. Tags are those of one machine's directory; `LMDBCache.removeAll(taggedWith:)` reaches no other.
public final class DistributedCache: Sendable {
  /// The tiers of this machine. What is written to them directly stays there.
  public let local: LMDBCache
  public let configuration: DistributedCacheConfiguration

  let client: RemoteClient
  let names: RemoteNames
  /// Nil where writes go through.
  let queue: WriteQueue?
  let revalidation = Revalidation()
  @usableFromInline let gate = LocalGate()
  private let follower = Mutex<ChangeFollower?>(nil)
  private let metrics: RemoteMetrics?
  private let ownRevision = Atomic<UInt64>(0)
  private let isClosed = Atomic<Bool>(false)
  let work = DispatchQueue(label: "LMDBCachingRemote.work", qos: .utility, attributes: .concurrent)
  let sender: QueueSender?
  /// What other processes have left that ended.
  private let orphans: [(queue: WriteQueue, sender: QueueSender)]

  /// Makes a cache of local tiers and a remote one. The server is not asked yet: a cache can be made while it is away.
  ///
  /// - Throws: ``RemoteTierError`` with `.failed` for settings that are wrong, and `.notKept` if what waits to be sent is
  ///   to be kept and cannot.
  public init(
    local: LMDBCache, remote: any RemoteTier,
    configuration: DistributedCacheConfiguration = DistributedCacheConfiguration()
  ) throws(RemoteTierError) {
    try configuration.validate()
    self.local = local
    self.configuration = configuration
    names = RemoteNames(prefix: configuration.prefix)
    let isMeasured = !(MetricsSystem.factory is NOOPMetricsHandler)
    let metrics =
      isMeasured ? RemoteMetrics(directory: local.path, prefix: configuration.prefix, MetricsSystem.factory) : nil
    self.metrics = metrics
    client = RemoteClient(
      remote, timeLimit: configuration.timeLimit, breaker: configuration.breaker, metrics: metrics
    ) { [local] failure in
      if let failure {
        local.log(.warning, "remote tier fails, and is left alone for a while", ["error": "\(failure)"])
      } else {
        local.log(.notice, "remote tier answers again")
      }
    }
    var queues: [WriteQueue] = []
    if case .behind(let limit, let folder) = configuration.writes {
      queues =
        try folder.map { (folder) throws(RemoteTierError) in
          try Outbox.open(in: folder, local.logger).map { outbox, items in
            WriteQueue(
              limit: limit, outbox: outbox,
              items: items.compactMap { $0.item { record, key in try local.entry(reading: record, forKey: key) } })
          }
        } ?? [WriteQueue(limit: limit)]
    }
    let senders = queues.map { [client, names] queue in (queue, QueueSender(queue, client, names, configuration)) }
    queue = senders.first?.0
    sender = senders.first?.1
    orphans = Array(senders.dropFirst())
    // Nothing is known of what the directory holds.
    revalidation.begin(at: local.presentStamp)
    gate.set(isChecking: true)
    for (_, sender) in senders {
      sender.onSent = { [weak self] revision in self?.noteOwn(revision) }
      sender.onGivenUp = { [client, local] item, error in
        client.counters.givenUp.add(1, ordering: .relaxed)
        local.log(
          .error, "write was refused by the remote tier, and is on this machine only",
          ["key": "\(item.key)", "error": "\(error)"])
      }
    }
    let follower = ChangeFollower(client, names, self)
    self.follower.withLock { $0 = follower }
    follower.start()
    if metrics != nil { report() }
  }

  deinit { stop() }

  /// Tells the metrics system what was counted, now and every few seconds.
  private func report() {
    guard let metrics, !isClosed.load(ordering: .relaxed) else { return }
    metrics.record(statistics, health)
    work.asyncAfter(deadline: .now() + .seconds(10)) { [weak self] in self?.report() }
  }

  private func stop() {
    follower.withLock { $0.take() }?.stop()
    for (queue, sender) in servedQueues {
      sender.stop()
      queue.end()
    }
    client.close()
  }

  private var servedQueues: [(queue: WriteQueue, sender: QueueSender)] {
    if let queue, let sender { [(queue, sender)] + orphans } else { [] }
  }

  /// Sends what waits.
  func wakeSenders() { for (_, sender) in servedQueues { sender.wake() } }

  /// Ends the use of the server: what waits to be sent is sent first, for as long as `timeLimit`. The local cache stays open.
  ///
  /// - Returns: How many writes could not be sent, and are on this machine only; those that are kept in a folder are sent by
  ///   the next process that is given it.
  @_disfavoredOverload @discardableResult
  public func close(timeLimit: Duration = .seconds(5)) -> Int {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return 0 }
    if let sender {
      let done = Settled<Void>()
      sender.drain(timeLimit: timeLimit) { done.settle(()) }
      done.wait()
    }
    return didDrain()
  }

  /// The same for tasks.
  @discardableResult
  public func close(timeLimit: Duration = .seconds(5)) async -> Int {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return 0 }
    await drain(timeLimit: timeLimit)
    return didDrain()
  }

  func drain(timeLimit: Duration) async {
    guard let sender else { return }
    await withCheckedContinuation { continuation in sender.drain(timeLimit: timeLimit) { continuation.resume() } }
  }

  private func didDrain() -> Int {
    let left = queue?.count ?? 0
    metrics?.record(statistics, health)
    metrics?.end()
    stop()
    if left > 0 { local.log(.error, "writes were not sent to the remote tier", ["writes": "\(left)"]) }
    return left
  }

  func checkOpen() throws(RemoteTierError) {
    if isClosed.load(ordering: .relaxed) {
      throw RemoteTierError(.closed, "The distributed cache was closed. Make another one.")
    }
  }

  // MARK: What may be served

  /// Whether everything local may be served.
  @inlinable
  var servesAll: Bool { gate.isOpen }

  /// Whether what the local tiers have under a key may be served. What is found to be old is removed.
  func isServable(_ key: String) throws -> Bool {
    guard let check = try check(key) else { return gate.servesUnheard }
    do throws(RemoteTierError) {
      return try didCheck(key, check, try client.sendAndWait([check.command], .read))
    } catch {
      return gate.servesUnheard
    }
  }

  nonisolated(nonsending) func isServable(_ key: String) async throws -> Bool {
    guard let check = try check(key) else { return gate.servesUnheard }
    let replies: [RemoteReply]
    do throws(RemoteTierError) {
      replies = try await client.send([check.command], .read)
    } catch {
      return gate.servesUnheard
    }
    return try didCheck(key, check, replies)
  }

  private struct Check {
    let command: RemoteCommand
    let revision: UInt64
    let floor: UInt64
  }

  /// How a key is checked; `nil` if it need not be.
  private func check(_ key: String) throws -> Check? {
    guard gate.isChecking, let found = try local.revision(forKey: key),
      let floor = revalidation.due(key, stamp: found.stamp), queue?.find(key) == nil
    else { return nil }
    return Check(
      command: RemoteCommand("GETRANGE", names.entry(key), 0, RemoteEntry.revisionLength - 1), revision: found.revision,
      floor: floor)
  }

  private func didCheck(_ key: String, _ check: Check, _ replies: [RemoteReply]) throws(RemoteTierError) -> Bool {
    let found = RemoteEntry.revision(replies[0])
    if let found, found.packed == check.revision {
      revalidation.noteChecked(key, floor: check.floor)
      return true
    }
    do throws(CacheError) {
      try local.invalidate(key, below: check.revision + 1)
    } catch {
      throw RemoteTierError(.failed, "\(error)")
    }
    return false
  }

  /// Holds every local entry against the server, in the background.
  private func sweep() {
    if isClosed.load(ordering: .relaxed) { return }
    guard let floor = revalidation.beginSweep() else { return }
    work.async { [weak self] in
      guard let self else { return }
      var isDone = true
      do {
        try local.diskCache.forEachPage(pageSize: 256) { entries in
          if self.isClosed.load(ordering: .relaxed) {
            isDone = false
            return false
          }
          try self.check(entries.filter { $0.stamp <= floor }.map(\.key))
          return true
        }
      } catch {
        isDone = false
      }
      if revalidation.endSweep(floor, isDone: isDone) {
        gate.set(isChecking: false)
        // Changes may have been missed meanwhile.
        if revalidation.isActive { gate.set(isChecking: true) }
      } else {
        work.asyncAfter(deadline: .now() + 1) { [weak self] in self?.sweep() }
      }
    }
  }

  private func check(_ keys: [String]) throws {
    let checks = try keys.compactMap { key in try check(key).map { (key, $0) } }
    if checks.isEmpty { return }
    let replies = try client.sendAndWait(checks.map(\.1.command), .read)
    for ((key, check), reply) in zip(checks, replies) { _ = try didCheck(key, check, [reply]) }
  }

  /// Since when nothing is heard of the fleet, in nanoseconds of the monotonic clock; `nil` while there is touch.
  var unheardSince: Int64? { follower.withLock { $0?.heardUntil } }

  // MARK: Revisions

  func noteOwn(_ revision: RemoteRevision) { ownRevision.max(revision.packed, ordering: .releasing) }
}

extension DistributedCache: ChangeSink {
  var greatestOwnRevision: RemoteRevision { RemoteRevision(packed: ownRevision.load(ordering: .acquiring)) }

  func apply(_ change: RemoteChange, revision: RemoteRevision) {
    do throws(CacheError) {
      switch change {
      case .key(let key):
        if queue?.outlives(key, revision) == true { return }
        client.counters.invalidations.add(1, ordering: .relaxed)
        try local.invalidate(key, below: revision.packed)
      case .prefix(let prefix):
        client.counters.invalidations.add(1, ordering: .relaxed)
        try local.invalidateAll(withPrefix: prefix, below: revision.packed)
      case .none: break
      }
    } catch {
      if error.code == .closed { return }
      // What cannot be removed here is held against the server before it is served.
      local.log(.error, "a change of another machine could not be followed", ["error": "\(error)"])
      didLoseTrack()
    }
  }

  func didLoseTrack() {
    client.counters.gaps.add(1, ordering: .relaxed)
    ownRevision.store(0, ordering: .releasing)
    queue?.forgetSettled()
    revalidation.begin(at: local.presentStamp)
    gate.set(isChecking: true)
    local.supersedeLoads()
    sweep()
  }

  func didChangeTouch(_ touch: ChangeTouch) {
    switch touch {
    case .heard:
      gate.set(servesUnheard: true)
      client.noteReachable()
      sweep()
      wakeSenders()
    case .unheard(let start):
      guard let limit = configuration.servesUnheardFor?.clampedNanoseconds else { return }
      let rest = start.addingReportingOverflow(limit).partialValue - MonotonicClock.nanoseconds
      if rest <= 0 { return gate.set(servesUnheard: false) }
      work.asyncAfter(deadline: .now() + .nanoseconds(Int(rest))) { [weak self] in
        guard let self, let heard = unheardSince else { return }
        if heard <= start { gate.set(servesUnheard: false) }
      }
    }
  }
}
