import Platform
import Synchronization

// One load for all processes of a directory.

extension LMDBCache {
  /// Runs `load` while no other process loads the key, unless one of them stores the value first.
  ///
  /// Waits up to ``CacheConfiguration/loadWaitLimit``, then loads anyway: the other process may be suspended. All
  /// waiting processes get its failure.
  ///
  /// - Parameters:
  ///   - look: Returns the value if it has been stored.
  ///   - load: Loads and stores.
  /// - Throws: the error of `load`, and `.loadFailed`.
  func leasing<R>(_ key: String, look: () throws -> R?, load: () throws -> R) throws -> R {
    var wait = LeaseWait(limit: configuration.loadWaitLimit)
    while true {
      switch CacheKey.with(key, store.keyLocks.tryLock) {
      case .isHeldHere: return try look() ?? load()
      case .taken(let lock):
        var isLoaded = false
        defer { store.release(lock, hasWritten: isLoaded) }
        if let found = try look() { return found }
        if wait.hasBegun, lock.isMarkedAsFailed { throw Self.failureElsewhere(key) }
        do {
          let value = try load()
          isLoaded = true
          return value
        } catch {
          if !(error is CancellationError) { lock.markAsFailed() }
          throw error
        }
      case .isHeldElsewhere:
        guard let pause = wait.next() else { return try look() ?? load() }
        MonotonicClock.sleep(nanoseconds: pause)
        if let found = try look() { return found }
      }
    }
  }

  nonisolated(nonsending) func leasing<R: Sendable>(
    _ key: String, look: () throws -> R?, load: nonisolated(nonsending) () async throws -> R
  ) async throws -> R {
    var wait = LeaseWait(limit: configuration.loadWaitLimit)
    while true {
      switch CacheKey.with(key, store.keyLocks.tryLock) {
      case .isHeldHere:
        if let found = try look() { return found }
        return try await load()
      case .taken(let lock):
        var isLoaded = false
        defer { store.release(lock, hasWritten: isLoaded) }
        if let found = try look() { return found }
        if wait.hasBegun, lock.isMarkedAsFailed { throw Self.failureElsewhere(key) }
        do {
          let value = try await load()
          isLoaded = true
          return value
        } catch {
          if !(error is CancellationError) { lock.markAsFailed() }
          throw error
        }
      case .isHeldElsewhere:
        guard let pause = wait.next() else { return try await load() }
        try await Task.sleep(for: .nanoseconds(pause))
        if let found = try look() { return found }
      }
    }
  }

  private static func failureElsewhere(_ key: String) -> CacheError {
    CacheError(
      .loadFailed,
      "Another process loaded the value of \(quoted(key)), and its load failed. This one waited for it. Try again.")
  }
}

/// The backoff between checks for another process's load.
private struct LeaseWait {
  private static let first: Int64 = 500_000
  private static let longest: Int64 = 20_000_000

  private let end: Int64
  private var pause = first

  var hasBegun: Bool { pause > Self.first }

  init(limit: Duration) { end = MonotonicClock.nanoseconds.addingClamped(limit.clampedNanoseconds) }

  /// Nanoseconds; `nil` at the end of the wait.
  mutating func next() -> Int64? {
    if MonotonicClock.nanoseconds >= end { return nil }
    defer { pause = min(pause * 2, Self.longest) }
    return pause
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

  func noteRemoval(_ scope: HiddenKeys.Scope) {
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
