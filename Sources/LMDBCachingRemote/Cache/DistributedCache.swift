import Dispatch
import Foundation
public import LMDBCaching
import Logging
import Metrics
import Platform
import Synchronization

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
      let items = opened.items.compactMap { kept -> WriteQueue.Item? in
        do { return try kept.item { record, key in try local.entry(reading: record, forKey: key) } } catch {
          opened.outbox.noteUnreadable(kept.number, error)
          return nil
        }
      }
      // Reads look into the first one only.
      return WriteQueue(
        limit: limit, outbox: opened.outbox, items: items, last: opened.last, gate: index == 0 ? gate : nil)
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
