import Dispatch
public import Foundation
public import LMDBCaching
import Logging
import Metrics
import Platform
public import Synchronization

/// A cache of a fleet of machines: memory and disk of this one, a Redis or Valkey server that all of them share, and
/// the loader behind that.
///
/// ```swift
/// let tier = try RedisTier(RedisConfiguration(host: "10.0.0.5"))
/// let cache = try DistributedCache(local: try LMDBCache(name: "pages"), remote: tier)
/// let page = try await cache.value(Page.self, forKey: "front") { _ in try await render() }
/// ```
///
/// A read looks into memory, on the disk, and on the server; what it finds there it keeps in both local tiers, with
/// what is left of its time to live. A write goes to the server and to the local tiers, and the other machines forget
/// what they have under the key.
///
/// **How old a read may be.** The server keeps a list of the last changes, in the order in which they were made, and
/// every process reads it all the time. What another machine has acknowledged is seen as soon as that entry arrives,
/// which takes about a round trip, and 1.1 seconds at most with the defaults: if nothing arrives for that long, or
/// changes arrive faster than they are followed, this process is *out of touch*. Then local values are served until
/// they expire, or for ``DistributedCacheConfiguration/servesUnheardFor``. The list is read on where it was left, and
/// there is touch again when its end was reached; if it does not reach back so far, or the server was emptied or lost
/// writes at a fail-over, every local entry is held against the server before it is served. So it is at the beginning:
/// what the directory holds from before is checked, each entry when it is first read, and all of them in the
/// background. A process that was suspended may serve what it has until it has read the list again.
///
/// **Writes.** A write that returned is on the server (``DistributedCacheConfiguration/WriteMode/through``), or in a
/// queue of this process that its reads look into first
/// (``DistributedCacheConfiguration/WriteMode/behind(limit:keptIn:)``). A thread that reads after it has written sees
/// what it wrote, or what somebody wrote after it; but for moments where other processes share the directory, as the
/// article on running a fleet says.
///
/// **When the server fails.** Local hits go on at full speed. Reads of what is nowhere else find nothing, and loads are
/// made here. A write-through throws, and what the local tiers have under the key goes, since nobody knows which value
/// the others will see. After several failures in a row the server is not asked for a while.
///
/// **Errors.** Those of the server are ``RemoteTierError``, and those of the local tiers `CacheError`: so what may
/// throw both is declared with a plain `throws`. After ``close(timeLimit:)`` writes throw `.closed`.
///
/// **Metrics.** ``health`` and ``statistics`` tell how it is. If a metrics system was installed before the cache is
/// made, it is told the same every 10 seconds, and the time of each request, as `lmdb_cache_remote_…`.
///
/// **Threads.** Any. The functions that are not asynchronous wait; in tasks the others are chosen.
///
/// What the server is given are archived records with their checksums, after the value transforms of the local cache:
/// with encryption it never sees plain text, but keys. The clocks of the machines have to agree: an entry expires at a
/// time of day. Tags are those of one machine's directory; `LMDBCache.removeAll(_:)` reaches no other.
public final class DistributedCache: Sendable {
  /// The tiers of this machine. What is written to them directly stays there.
  public let local: LMDBCache
  /// How it was made.
  public let configuration: DistributedCacheConfiguration

  let client: RemoteClient
  let names: RemoteNames
  let news = RemoteNews()
  let follower: ChangeFollower
  /// Nil where writes go through.
  let queue: WriteQueue?
  let revalidation = Revalidation()
  @usableFromInline let gate = LocalGate()
  let metrics: RemoteMetrics?
  let isClosed = Atomic<Bool>(false)
  private let isStopped = Atomic<Bool>(false)
  /// Whether the log was told that nothing is heard of the fleet.
  let isUnheardLogged = Atomic<Bool>(false)
  // Serial ones, which get threads also where those of the process's pool are all taken.
  /// For what takes no time, or nobody waits for.
  let work = DispatchQueue(label: "LMDBCachingRemote.work", qos: .utility)
  let sweeps = DispatchQueue(label: "LMDBCachingRemote.sweeps", qos: .utility)
  let sender: QueueSender?
  /// What other processes have left that ended.
  private let orphans: [(queue: WriteQueue, sender: QueueSender)]

  /// Makes a cache of local tiers and a remote one. The server is not asked yet: a cache can be made while it is away.
  ///
  /// The remote tier is this cache's alone: ``close(timeLimit:)`` closes it.
  ///
  /// - Throws: ``RemoteTierError`` with `.invalidArgument` for settings that are out of range, and `.notKept` if what
  ///   waits
  ///   to be sent is to be kept and cannot.
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
    follower = ChangeFollower(client, names)
    let queues = try Self.queues(configuration.writes, local, gate)
    let senders = queues.map { [client, names] queue in
      (queue, QueueSender(queue, client, names, local, streamLength: configuration.rememberedChanges))
    }
    queue = senders.first?.0
    sender = senders.first?.1
    orphans = Array(senders.dropFirst())
    for (_, sender) in senders { sender.owner = self }
    sender?.predecessors = orphans.map(\.queue)
    // Nothing is known of what the directory holds.
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
    return try Outbox.open(in: folder, local).enumerated().map { index, opened in
      // Reads look into the first one only.
      return WriteQueue(
        limit: limit, outbox: opened.outbox, items: opened.items, last: opened.last, gate: index == 0 ? gate : nil)
    }
  }

  /// Tells the metrics system what was counted, now and every few seconds.
  private func report() {
    guard let metrics, !isClosed.load(ordering: .relaxed) else { return }
    metrics.record(statistics, health)
    work.asyncAfter(deadline: .now() + .seconds(10)) { [weak self] in self?.report() }
  }

  /// Waits for the disk.
  func stop() {
    if isStopped.exchange(true, ordering: .acquiringAndReleasing) { return }
    follower.stop()
    for (_, sender) in servedQueues { sender.stop() }
    client.close()
    for (queue, _) in servedQueues { queue.end() }
  }

  /// The process's own first.
  var servedQueues: [(queue: WriteQueue, sender: QueueSender)] {
    if let queue, let sender { [(queue, sender)] + orphans } else { [] }
  }

  func checkOpen() throws(RemoteTierError) {
    if isClosed.load(ordering: .relaxed) { throw .cacheClosed }
  }
}

/// How a ``DistributedCache`` uses its remote tier.
public struct DistributedCacheConfiguration: Sendable {
  /// When a write reaches the other machines.
  public enum WriteMode: Sendable, Equatable {
    /// A write returns when the server has acknowledged it. It throws when that fails.
    case through
    /// A write returns when it is in a queue, and is sent in the background: of several to one key that wait, the last
    /// one. This process reads from the queue what waits there, and what others read it finds in its local tiers once
    /// the server has it.
    ///
    /// - Parameters:
    ///   - limit: How many bytes may wait, 1 or more. A write that would exceed them throws
    ///     ``RemoteTierError/Code/queueFull``, and changes nothing.
    ///   - keptIn: Where what waits is kept, too, so that it survives the death of the process: a folder on a local
    ///     disk,
    ///     which the processes of a machine may share. The next process that is given it sends what is left there. `nil`:
    ///     what waits is in memory, and lost if the process dies before it is sent.
    case behind(limit: Int, keptIn: URL? = nil)
  }

  /// What the names of the fleet's keys on the server begin with: 1 to 128 bytes, without braces. Fleets with other
  /// prefixes see nothing of this one.
  public var prefix = "lmdb-cache"
  public var writes = WriteMode.through
  /// How long a request to the server may take: 100 ms by default, from 1 ms to an hour.
  public var timeLimit = Duration.milliseconds(100)
  /// When a server that fails is left alone.
  public var breaker = BreakerSettings()
  /// How many changes the server remembers, about, for machines that were out of touch: 100,000 by default, from 1 to
  /// 2^40. A machine that missed more holds everything that it has against the server before it serves it.
  public var rememberedChanges = 100_000
  /// For how long a machine loads a key alone: 10 s by default, from 1 ms to an hour. When it has not stored a value by
  /// then, since it died, or since loading takes longer, another one loads too.
  public var leaseDuration = Duration.seconds(10)
  /// How long others wait for it at most, before they load themselves: 10 s by default, and not negative.
  public var loadWaitLimit = Duration.seconds(10)
  /// For how long local values are served while the fleet's changes are not heard of; `nil`, the default, until they
  /// expire. After that they count as absent, until there is touch again. With a limit nothing local is served before
  /// there was touch for the first time: for how long the directory was left alone is not known.
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
    try check(
      breaker.failures > 0 && breaker.firstPause > .zero && breaker.longestPause >= breaker.firstPause,
      "A breaker opens after 1 failure or more; its first pause is more than 0, and its longest is no shorter than that."
    )
  }
}

/// When a server that fails is left alone, and for how long.
public struct BreakerSettings: Sendable, Equatable {
  /// After how many failures in a row; 5 by default. Requests that were under way together, and fail together, are one.
  public var failures = 5
  /// How long the first pause is: 100 ms by default. Each is shorter by up to a half, at random.
  public var firstPause = Duration.milliseconds(100)
  /// How long a pause is at most: 5 s by default.
  public var longestPause = Duration.seconds(5)

  public init() {}
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

  /// What was counted since the cache was made.
  public var statistics: RemoteStatistics {
    var statistics = client.counts.withLock { $0 }
    for (queue, _) in servedQueues {
      statistics.waitingWrites += queue.count
      statistics.waitingBytes += queue.size
    }
    statistics.lag = .nanoseconds(follower.lag)
    return statistics
  }
}

extension DistributedCache {
  /// Waits until everything that was written before is on the server, and makes the local tiers safe from a power cut.
  ///
  /// - Throws: ``RemoteTierError`` with `.timedOut` if some still waits to be sent when the time is over, which goes on
  ///   waiting, or `.closed`; what `LMDBCache.flush()` throws.
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

  private var waiting: Int { servedQueues.reduce(0) { $0 + $1.queue.count } }

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
    LoadCaller.wait { _ in await self.close(timeLimit: timeLimit) }
  }

  /// Ends the use of the server, without blocking a thread.
  @discardableResult
  public func close(timeLimit: Duration = .seconds(5)) async -> Int {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return 0 }
    gate.set(.closed, true)
    // What a writer was just told is taken is sent.
    for (queue, _) in servedQueues { queue.seal() }
    await drain(timeLimit)
    return await withCheckedContinuation { continuation in
      // It waits for the disk.
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
      let group = DispatchGroup()
      for (_, sender) in servedQueues {
        group.enter()
        sender.drain(timeLimit: timeLimit) { group.leave() }
      }
      group.notify(queue: work) { continuation.resume() }
    }
  }
}

/// Whether what is local may be served without a look at anything else: one load for a hit.
@usableFromInline
final class LocalGate: Sendable {
  /// Why not.
  struct Reason: OptionSet {
    let rawValue: UInt8

    /// Entries are held against the server before they are served.
    static let checking = Reason(rawValue: 1)
    /// Nothing is heard of the fleet, and there is a limit to that.
    static let unheard = Reason(rawValue: 2)
    /// Writes wait to be sent, which come before what is local.
    static let waiting = Reason(rawValue: 4)
    /// Nobody follows the fleet any more.
    static let closed = Reason(rawValue: 8)
  }

  @usableFromInline let bits = Atomic<UInt8>(0)
  /// Until when local values may be served while nothing is heard, by the monotonic clock.
  private let servedUntil = Atomic<Int64>(.min)

  /// Whether everything may be served.
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

  /// Nothing is heard of the fleet; what is local may be served until a moment, in nanoseconds of the monotonic clock.
  func serveUnheard(until end: Int64) {
    servedUntil.store(end, ordering: .releasing)
    set(.unheard, true)
  }

  /// Whether local values may be served, as far as it depends on what is heard of the fleet.
  var servesUnheard: Bool {
    !has(.unheard) || MonotonicClock.nanoseconds < servedUntil.load(ordering: .acquiring)
  }
}
