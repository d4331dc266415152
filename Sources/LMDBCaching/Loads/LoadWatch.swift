import Platform
import Synchronization

/// The running loads of a cache, which are notified of every write of their keys.
///
/// Callers hold the store's lock, so a load either sees a write, because it looks for a value after it has begun, or is
/// notified of it.
// Sendable: only used with the store's lock held.
final class LoadWatch: @unchecked Sendable {
  private var loads: [ByteKey: [Load]] = [:]
  private var isInvalidating = false
  private var isClosed = false

  func begin(_ load: Load) {
    if isClosed { return load.supersede() }
    loads[load.key, default: []].append(load)
  }

  /// Stops notifications; running loads no longer store their values.
  func close() {
    isClosed = true
    noteRemoval(.everything)
  }

  func end(_ load: Load) {
    guard var others = loads.removeValue(forKey: load.key) else { return }
    others.removeAll { $0 === load }
    if !others.isEmpty { loads[load.key] = others }
  }

  @inline(__always)
  func noteWrite(_ key: String) { if !loads.isEmpty { supersede(ByteKey(key)) } }

  /// The next write, under the lock already held, only removes an entry that is older than a remote tier's.
  func expectInvalidation() { isInvalidating = !loads.isEmpty }

  func noteRemoval(_ scope: KeyScope) {
    for (key, loads) in loads {
      for load in loads {
        if case .tag(let hash) = scope {
          load.noteRemoval(ofTag: hash)
        } else if scope.includes(key.string) {
          load.supersede()
        }
      }
    }
  }

  func noteInvalidation(_ key: String, below revision: UInt64) {
    if loads.isEmpty { return }
    for load in loads[ByteKey(key)] ?? [] { load.invalidate(below: revision) }
  }

  func noteInvalidation(ofAll prefix: String, below revision: UInt64) {
    for (key, loads) in loads where key.string.utf8.starts(with: prefix.utf8) {
      for load in loads { load.invalidate(below: revision) }
    }
  }

  @inline(never)
  private func supersede(_ key: ByteKey) {
    if isInvalidating {
      isInvalidating = false
      return
    }
    for load in loads[key] ?? [] { load.supersede() }
  }
}

/// The writes of a key by other processes that are known when a load begins.
struct LoadBasis {
  private struct Record {
    let stamp: UInt64
    let tags: EntryTags?
    /// Removals of many are the only trace of a missing entry.
    let removals: RemovalMarks
  }

  private let position: UInt64
  private let record: Record?

  init(of key: String, in store: DiskStore) {
    position = store.foreignPosition
    record = Self.record(key, store)
  }

  var tags: EntryTags? { record?.tags }

  /// Whether no other process is known to have written the key. The removal of a single missing key leaves no trace.
  ///
  /// - Parameter tags: A removal by one of them counts as a write of the key.
  func isCurrent(_ key: String, _ tags: [EntryTags?], in store: DiskStore) -> Bool {
    if store.foreignPosition == position { return true }
    guard let record, let now = Self.record(key, store), now.stamp == record.stamp,
      now.removals.clear == record.removals.clear,
      !CacheKey.with(key, { now.removals.prefixes.includes($0.utf8, since: record.removals.prefixes.last) })
    else { return false }
    let tagged = record.removals.tag.last
    if now.removals.tag.last == tagged { return true }
    // The tags of the older removals are forgotten.
    if now.removals.tag.forgotten > tagged { return false }
    do throws(CacheError) {
      for tags in tags { if let tags, try store.database.isRemoved(tags, writtenAt: tagged) { return false } }
      return true
    } catch {
      return false
    }
  }

  private static func record(_ key: String, _ store: DiskStore) -> Record? {
    do throws(CacheError) {
      let header = try CacheKey.with(key) { (key) throws(CacheError) in try store.header(key) }
      return Record(stamp: header?.header.stamp ?? 0, tags: header?.tags, removals: try store.database.removalMarks())
    } catch {
      // Returning the error would reach only this caller, which gets the value anyway.
      return nil
    }
  }
}

/// The keys whose loads failed, and until when an older value is served without another load.
final class LoadPauses: Sendable {
  private struct Pause {
    var failures = 0
    /// Monotonic.
    var end: Int64 = 0
  }

  /// Beyond this all are forgotten, and loaded once more.
  private static let maximumCount = 10_000

  private let pauses = Mutex<[ByteKey: Pause]>([:])

  func isPausing(_ key: ByteKey, now: Int64) -> Bool { pauses.withLock { ($0[key]?.end ?? .min) > now } }

  /// Begins a pause and returns `true`, unless one is running.
  @discardableResult
  func noteFailure(_ key: ByteKey, _ options: LoadOptions, now: Int64) -> Bool {
    pauses.withLock { pauses in
      if pauses.count >= Self.maximumCount { pauses = [:] }
      var pause = pauses[key] ?? Pause()
      if pause.end > now { return false }
      let factor = Int64(1) << min(pause.failures, 32)
      let (length, overflow) = options.pauseAfterFailure.clampedNanoseconds.multipliedReportingOverflow(by: factor)
      let longest = options.longestPause.clampedNanoseconds
      pause.failures += 1
      pause.end = now.addingClamped(overflow ? longest : min(length, longest))
      pauses[key] = pause
      return true
    }
  }

  func noteSuccess(_ key: ByteKey) { pauses.withLock { if !$0.isEmpty { $0[key] = nil } } }
}

/// Counts the runs of the loading closures since the cache was opened.
final class LoadCounters: Sendable {
  private let loads = Atomic<Int>(0)
  private let failures = Atomic<Int>(0)
  private let nanoseconds = Atomic<Int64>(0)
  private let stale = Atomic<Int>(0)
  private let refreshes = Atomic<Int>(0)

  func note(isFailure: Bool, nanoseconds: Int64) {
    loads.increment()
    if isFailure { failures.increment() }
    self.nanoseconds.wrappingAdd(max(0, nanoseconds), ordering: .relaxed)
  }

  func noteStale() { stale.increment() }

  func noteRefresh() { refreshes.increment() }

  func add(to statistics: inout CacheStatistics) {
    statistics.loads += loads.load(ordering: .relaxed)
    statistics.staleServed += stale.load(ordering: .relaxed)
    statistics.refreshes += refreshes.load(ordering: .relaxed)
    statistics.failedLoads += failures.load(ordering: .relaxed)
    statistics.loadTime += .nanoseconds(nanoseconds.load(ordering: .relaxed))
  }
}
