import Dispatch
import Platform
import Synchronization

/// One run of a closure that loads a value.
///
/// While the closure runs, ``current`` is its load, in the thread or task that runs it and in the tasks that it starts.
final class Load: Sendable {
  /// The load whose closure, or a task that was started in it, is running.
  @TaskLocal private static var innermost: Load?

  let key: ByteKey
  private let cache: ObjectIdentifier
  /// The load that this one was started in, as long as it runs.
  private let parent: Mutex<Load?>
  /// Whether the parent's own thread or task started this one, and waits for it.
  private let isAwaited: Bool
  private let isWritten = Atomic<Bool>(false)
  private let invalidation = Atomic<UInt64>(0)
  private let tags = Mutex(Tags())
  /// The thread or the task that runs the closure, or 0.
  private let thread = Atomic<UInt>(0)
  private let task = Atomic<Int>(0)

  init(_ key: ByteKey, of cache: SingleFlight) {
    self.key = key
    self.cache = ObjectIdentifier(cache)
    let parent = Load.current
    self.parent = Mutex(parent)
    isAwaited = parent?.isRunningHere ?? false
  }

  /// The load that this thread or task runs inside, or that it was started in, if that is not over.
  static var current: Load? { innermost.flatMap { $0.isRunning ? $0 : nil } }

  /// Refuses a load that the caller runs inside, and that would wait for itself.
  ///
  /// - Parameter includesTasks: Whether a task that was started in the load counts as part of it. It is not if the load
  ///   does not
  ///   wait for it, which only a wait shows.
  /// - Throws: `.recursiveLoad`
  static func checkRecursion(_ key: ByteKey, _ cache: SingleFlight, includesTasks: Bool) throws(CacheError) {
    var next = current
    var isInside = includesTasks || next?.isRunningHere == true
    while let load = next, isInside {
      if load.key == key, load.cache == ObjectIdentifier(cache) {
        throw CacheError(
          .recursiveLoad,
          "The load of \(quoted(key.string)) asks for that value itself. Return it without asking again.")
      }
      isInside = includesTasks || load.isAwaited
      next = load.parent.withLock { $0 }
    }
  }

  /// Runs `body`, which starts work that no load waits for.
  static func leavingCurrent<R>(_ body: () throws -> R) rethrows -> R {
    try $innermost.withValue(nil, operation: body)
  }

  // MARK: Running

  func run<R>(_ body: () throws -> R) rethrows -> R {
    thread.store(PlatformThread.current, ordering: .releasing)
    defer { end() }
    return try Self.$innermost.withValue(self) { try body() }
  }

  nonisolated(nonsending) func run<R>(_ body: nonisolated(nonsending) () async throws -> R) async rethrows -> R {
    task.store(Self.currentTask, ordering: .releasing)
    defer { end() }
    return try await Self.$innermost.withValue(self) { try await body() }
  }

  private func end() {
    thread.store(0, ordering: .releasing)
    task.store(0, ordering: .releasing)
    parent.withLock { $0 = nil }
  }

  private var isRunning: Bool { thread.load(ordering: .acquiring) != 0 || task.load(ordering: .acquiring) != 0 }

  /// Whether the calling thread or task runs the closure.
  private var isRunningHere: Bool {
    let thread = thread.load(ordering: .acquiring)
    if thread != 0 { return thread == PlatformThread.current }
    let task = task.load(ordering: .acquiring)
    return task != 0 && task == Self.currentTask
  }

  /// A number that no other task has that is alive; 0 outside of tasks.
  private static var currentTask: Int { withUnsafeCurrentTask { $0?.hashValue } ?? 0 }

  // MARK: Writes of the key

  /// Whether the key was written since the load began, or nobody waits for the load any more: the value is not stored.
  var isSuperseded: Bool { isWritten.load(ordering: .acquiring) }

  /// Makes the value not be stored. A write of the key does so with the store's lock held, before it can be read.
  func supersede() { isWritten.store(true, ordering: .releasing) }

  /// Notes a change that was made in a remote tier: what was loaded is stored only if it is of this revision or a later
  /// one.
  func invalidate(below revision: UInt64) { invalidation.max(revision, ordering: .releasing) }

  /// Whether no later change of the remote tier is known than the one that made a value.
  func isNewest(_ revision: UInt64) -> Bool { invalidation.load(ordering: .acquiring) <= revision }

  /// Whether the value, of a revision of a remote tier, is the newest as far as is known.
  ///
  /// - Parameter tags: Those of the value, and of the entry that it replaces.
  func isCurrent(at revision: UInt64, _ tags: [EntryTags?] = []) -> Bool {
    if isSuperseded || !isNewest(revision) { return false }
    let removed = self.tags.withLock { $0.removed }
    return removed.isEmpty || !tags.contains { $0?.hashes.contains(where: removed.contains) == true }
  }

  // MARK: Removals by tag

  private struct Tags {
    /// Tags of the value that are known before it is loaded.
    var expected: EntryTags?
    var removed: Set<UInt64> = []
  }

  func expect(_ tags: EntryTags?) { self.tags.withLock { $0.expected = tags } }

  /// The closure may choose the tags. The expected ones decide which callers join the load, the final ones whether its
  /// value is stored.
  func noteRemoval(ofTag hash: UInt64) {
    let isExpected = tags.withLock { tags in
      tags.removed.insert(hash)
      return tags.expected?.hashes.contains(hash) == true
    }
    if isExpected { supersede() }
  }
}

/// Runs the loads of threads beside their callers: those of the background, and those with a time limit.
///
/// They are tasks, so that they have the task-local values of their callers, such as the span that is a trace's parent.
/// They have threads of their own, since they may block: on Linux, Swift's pool and Dispatch's have about as many
/// threads as there are processors. A load may wait for another one, so the number of threads is not small.
final class LoadExecutor: TaskExecutor {
  private static let shared = LoadExecutor()

  private init() {}

  /// Runs `load`, which may block, with the caller's task-local values.
  static func run(_ load: @escaping @Sendable () -> Void) {
    Task(executorPreference: shared) { load() }
  }

  /// Whether the caller is in a task that another executor runs: Swift's pool, or an actor's.
  static var isOnPool: Bool {
    withUnsafeCurrentTask { task in
      guard let task else { return false }
      return task.unownedTaskExecutor != shared.asUnownedTaskExecutor()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let run = { @Sendable [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    do throws(SystemError) { try PlatformThread.start(name: "LMDB load", run) } catch {
      // The system allows no more threads.
      DispatchQueue.global().async(execute: run)
    }
  }
}

/// The cached state of a key for a read through a loader.
enum LoadStanding<V> {
  /// Serve it.
  case fresh(V?)
  /// Serve it and reload.
  case due(V?)
  /// Serve it only if a load fails.
  case fallback(V)
  case missing
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
