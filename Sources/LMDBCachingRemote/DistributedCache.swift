import Dispatch
public import Foundation
public import LMDBCaching
import Logging
import Metrics
import Platform
public import Synchronization

/// A cache of a fleet of machines: memory and disk of each, a Redis or Valkey server that all share, and the loader
/// behind it.
///
/// ```swift
/// let tier = try RedisTier(RedisConfiguration(host: "10.0.0.5"))
/// let cache = try DistributedCache(local: try LMDBCache(name: "pages"), remote: tier)
/// let page = try await cache.value(Page.self, forKey: "front") { _ in try await render() }
/// ```
///
/// Reads look into memory, on the disk and on the server, and keep its values in both local tiers. Writes go to the
/// server and the local tiers; other machines forget the key about a round trip later, or after 1.1 seconds (with the
/// defaults) of a connection that hangs unnoticed. A thread reads its own writes.
///
/// If the server fails, local values are served until they expire, or for
/// ``DistributedCacheConfiguration/servesUnheardFor``; loads are made here; writes throw, unless they go behind
/// (``DistributedCacheConfiguration/WriteMode/behind(limit:keptIn:)``). Local entries from before a gap are compared
/// with the server before they are served.
///
/// Errors of the server are ``RemoteTierError``, those of the local tiers `CacheError`. The server gets archived
/// records after the value transforms, and plain keys. The machines' clocks must agree. Tags are local. A metrics
/// system installed before gets ``health`` and ``statistics`` every 10 seconds as `lmdb_cache_remote_…`.
///
/// **Threads.** Any.
public final class DistributedCache: Sendable {
  /// The tiers of this machine. What is written to them directly stays there.
  public let local: LMDBCache
  public let configuration: DistributedCacheConfiguration

  let client: RemoteClient
  let names: RemoteNames
  let news = RemoteNews()
  let follower: ChangeFollower
  /// The process's own first, then those of processes that have ended; empty if writes go through.
  let senders: [QueueSender]
  let revalidation = Revalidation()
  @usableFromInline let gate = LocalGate()
  let metrics: RemoteMetrics?
  let isClosed = Atomic<Bool>(false)
  private let isStopped = Atomic<Bool>(false)
  /// Whether the log was told that nothing is heard of the fleet.
  let isUnheardLogged = Atomic<Bool>(false)
  // Serial, with threads beyond the pool's.
  /// For short work.
  let work = DispatchQueue(label: "LMDBCachingRemote.work", qos: .utility)
  let sweeps = DispatchQueue(label: "LMDBCachingRemote.sweeps", qos: .utility)

  /// Creates a cache without asking the server. ``close(timeLimit:)`` closes the remote tier, too.
  ///
  /// - Throws: ``RemoteTierError``: `.invalidArgument` for settings out of range, `.notKept` if the queue's folder
  ///   cannot be used.
  public init(
    local: LMDBCache, remote: any RemoteTier,
    configuration: DistributedCacheConfiguration = DistributedCacheConfiguration()
  ) throws(RemoteTierError) {
    try configuration.validate()
    self.local = local
    self.configuration = configuration
    names = RemoteNames(prefix: configuration.prefix)
    metrics =
      MetricsSystem.factory is NOOPMetricsHandler
      ? nil : RemoteMetrics(directory: local.path, prefix: configuration.prefix, MetricsSystem.factory)
    client = RemoteClient(remote, timeLimit: configuration.timeLimit, metrics: metrics) { [local] failure in
      if let failure {
        local.log(.warning, "remote tier fails, and is left alone for a while", ["error": "\(failure)"])
      } else {
        local.log(.notice, "remote tier answers again")
      }
    }
    follower = ChangeFollower(client, names)
    senders = try Self.queues(configuration.writes, local, gate).map { [client, names] queue in
      QueueSender(queue, client, names, local, streamLength: configuration.rememberedChanges)
    }
    for sender in senders { sender.owner = self }
    senders.first?.predecessors = senders.dropFirst().map(\.queue)
    revalidation.begin(at: local.presentStamp)
    gate.set(.checking, true)
    if configuration.servesUnheardFor != nil { gate.serveUnheard(until: .min) }
    follower.sink = self
    follower.start()
    if metrics != nil { report() }
  }

  deinit { stop() }

  private static func queues(
    _ mode: DistributedCacheConfiguration.WriteMode, _ local: LMDBCache, _ gate: LocalGate
  ) throws(RemoteTierError) -> [WriteQueue] {
    guard case .behind(let limit, let folder) = mode else { return [] }
    guard let folder else { return [WriteQueue(limit: limit, gate: gate)] }
    // Reads look into the first one only.
    return try Outbox.open(in: folder, local).enumerated().map { index, opened in
      WriteQueue(limit: limit, kept: opened, gate: index == 0 ? gate : nil)
    }
  }

  /// Tells the metrics system what was counted, now and every few seconds.
  private func report() {
    guard let metrics, !isClosed.load(ordering: .relaxed) else { return }
    metrics.record(statistics, health)
    work.asyncAfter(deadline: .now() + .seconds(10)) { [weak self] in self?.report() }
  }

  func stop() {
    if isStopped.exchange(true, ordering: .acquiringAndReleasing) { return }
    follower.stop()
    for sender in senders { sender.stop() }
    client.close()
    for sender in senders { sender.queue.end() }
  }

  var queue: WriteQueue? { senders.first?.queue }

  func checkOpen() throws(RemoteTierError) { if isClosed.load(ordering: .relaxed) { throw .cacheClosed } }
}

/// How a ``DistributedCache`` uses its remote tier.
public struct DistributedCacheConfiguration: Sendable {
  /// When a write reaches the other machines.
  public enum WriteMode: Sendable, Equatable {
    /// A write returns when the server has acknowledged it. It throws when that fails.
    case through
    /// A write returns when it is in a queue of this process, which its reads look into first. It is sent in the
    /// background: of several to one key, the last.
    ///
    /// - Parameters:
    ///   - limit: The most bytes that may wait. A write beyond them throws ``RemoteTierError/Code/queueFull``.
    ///   - keptIn: A folder on a local disk, in which the queue survives the process. The next process that is given it
    ///     sends the rest. Processes of a machine may share it. `nil`: memory only.
    case behind(limit: Int, keptIn: URL? = nil)
  }

  /// The beginning of the fleet's keys on the server: 1 to 128 bytes, without braces. Each fleet needs its own.
  public var prefix = "lmdb-cache"
  public var writes = WriteMode.through
  /// How long a request to the server may take: 100 ms by default, from 1 ms to an hour.
  public var timeLimit = Duration.milliseconds(100)
  /// About how many changes the server remembers: 100,000 by default, from 1 to 2^40. A machine that missed more
  /// compares all its entries with the server.
  public var rememberedChanges = 100_000
  /// How long one machine loads a key alone: 10 s by default, from 1 ms to an hour. Then another one loads, too.
  public var leaseDuration = Duration.seconds(10)
  /// How long others wait for it before they load themselves: 10 s by default.
  public var loadWaitLimit = Duration.seconds(10)
  /// How long local values are served while out of touch; `nil`, the default, until they expire. With a limit, nothing
  /// local is served before the first touch.
  public var servesUnheardFor: Duration?

  public init() {}

  func validate() throws(RemoteTierError) {
    func check(_ isRight: Bool, _ message: String) throws(RemoteTierError) {
      if !isRight { throw RemoteTierError(.invalidArgument, message) }
    }
    try check(
      !prefix.isEmpty && prefix.utf8.count <= 128 && !prefix.contains("{") && !prefix.contains("}"),
      "A prefix has 1 to 128 bytes and no braces; \"\(prefix)\" does not.")
    if case .behind(let limit, _) = writes { try check(limit > 0, "The limit of what may wait is 1 byte or more.") }
    for (name, duration) in [("timeLimit", timeLimit), ("leaseDuration", leaseDuration)] {
      try check(
        duration >= .milliseconds(1) && duration <= .seconds(3_600),
        "\(name) is from 1 ms to an hour; \(duration) is not.")
    }
    try check(loadWaitLimit >= .zero, "loadWaitLimit is not negative; \(loadWaitLimit) is.")
    try check(servesUnheardFor.map { $0 >= .zero } ?? true, "servesUnheardFor is not negative.")
    try check(
      (1...1 << 40).contains(rememberedChanges), "rememberedChanges is from 1 to 2^40; \(rememberedChanges) is not.")
  }
}

extension DistributedCache {
  /// How the cache and its server get on, as of now. Costs a few locks.
  public var health: RemoteHealth {
    let (reads, writes) = (client.suspension(of: .read), client.suspension(of: .write))
    var failure = reads ?? writes
    var isInTouch = true
    if case .unheard(_, let error) = follower.touch { (isInTouch, failure) = (false, error ?? failure) }
    return RemoteHealth(
      isInTouch: isInTouch, areReadsSuspended: reads != nil, areWritesSuspended: writes != nil,
      isRevalidating: revalidation.isActive, failure: failure)
  }

  public var statistics: RemoteStatistics {
    var statistics = client.counts.withLock { $0 }
    statistics.waitingWrites = waiting
    statistics.waitingBytes = senders.reduce(0) { $0 + $1.queue.size }
    statistics.lag = .nanoseconds(follower.lag)
    return statistics
  }

  /// Waits until all earlier writes are on the server, and survive a power cut in the local tiers.
  ///
  /// - Throws: ``RemoteTierError``: `.timedOut` if some still wait, which are sent later, or `.closed`; as
  ///   `LMDBCache.flush()`.
  @_disfavoredOverload
  public func flush(timeLimit: Duration = .seconds(10)) throws {
    try LoadCaller.wait { _ in try await self.flush(timeLimit: timeLimit) }
  }

  /// Waits until all earlier writes are on the server and on the disk, without blocking a thread.
  public func flush(timeLimit: Duration = .seconds(10)) async throws {
    try checkOpen()
    await drain(timeLimit)
    try await local.flush()
    let count = waiting
    if count > 0 { throw RemoteTierError(.timedOut, "\(count) writes wait to be sent; they are tried again.") }
  }

  private var waiting: Int { senders.reduce(0) { $0 + $1.queue.count } }

  /// Sends waiting writes for up to `timeLimit`, then closes the remote tier. The local cache stays open, without
  /// changes of other machines.
  ///
  /// - Returns: The number of writes that were not sent. Those kept in a folder are sent by its next process; others
  ///   are lost.
  @_disfavoredOverload @discardableResult
  public func close(timeLimit: Duration = .seconds(5)) -> Int {
    LoadCaller.wait { _ in await self.close(timeLimit: timeLimit) }
  }

  /// Ends the use of the server, without blocking a thread.
  @discardableResult
  public func close(timeLimit: Duration = .seconds(5)) async -> Int {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return 0 }
    gate.set(.closed, true)
    // What a writer was just told is taken is sent.
    for sender in senders { sender.queue.seal() }
    await drain(timeLimit)
    return await withCheckedContinuation { continuation in
      work.async { [self] in
        let left = waiting
        metrics?.record(statistics, health)
        metrics?.end()
        stop()
        if left > 0 { local.log(.error, "writes were not sent to the remote tier", ["writes": "\(left)"]) }
        continuation.resume(returning: left)
      }
    }
  }

  private func drain(_ timeLimit: Duration) async {
    await withCheckedContinuation { continuation in
      let end = MonotonicClock.nanoseconds.addingClamped(timeLimit.clampedNanoseconds)
      let group = DispatchGroup()
      for sender in senders {
        group.enter()
        sender.drain(until: end) { group.leave() }
      }
      group.notify(queue: work) { continuation.resume() }
    }
  }
}

/// Whether local values may be served without a look at anything else: one atomic load for a hit.
@usableFromInline
final class LocalGate: Sendable {
  enum Reason: UInt8 {
    /// Entries are compared with the server before they are served.
    case checking = 1
    /// Out of touch, and there is a limit to that.
    case unheard = 2
    /// Writes wait to be sent, which come before local values.
    case waiting = 4
    case closed = 8
  }

  @usableFromInline let bits = Atomic<UInt8>(0)
  /// Until when local values may be served while nothing is heard, by the monotonic clock.
  private let servedUntil = Atomic<Int64>(.min)

  @inlinable
  var isOpen: Bool { bits.load(ordering: .acquiring) == 0 }

  func has(_ reason: Reason) -> Bool { bits.load(ordering: .acquiring) & reason.rawValue != 0 }

  func set(_ reason: Reason, _ isSet: Bool) {
    if isSet {
      bits.bitwiseOr(reason.rawValue, ordering: .acquiringAndReleasing)
    } else {
      bits.bitwiseAnd(~reason.rawValue, ordering: .acquiringAndReleasing)
    }
  }

  /// Out of touch: local values may be served until a moment of the monotonic clock.
  func serveUnheard(until end: Int64) {
    servedUntil.store(end, ordering: .releasing)
    set(.unheard, true)
  }

  /// Whether being out of touch allows to serve local values.
  var servesUnheard: Bool { !has(.unheard) || MonotonicClock.nanoseconds < servedUntil.load(ordering: .acquiring) }
}
