import Platform
import Synchronization

/// How a caller takes part in loads: a task, or a thread that waits.
@usableFromInline
package struct LoadCaller: Sendable {
  /// The executor of a waiting thread; `nil` for a task.
  let executor: ThreadExecutor?
  private let innermost: Load?
  /// Whether the innermost load's own task is the caller, so that the load waits for it.
  fileprivate let isInLoad: Bool
  /// Whether it is a thread of Swift's pool that waits.
  let blocksPool: Bool

  /// The caller of the function that calls this.
  @usableFromInline
  package init() { self.init(executor: nil) }

  private init(executor: ThreadExecutor?) {
    self.executor = executor
    innermost = Load.current
    isInLoad = innermost?.isRunningHere ?? false
    blocksPool = executor != nil && Load.currentTask != 0 && (!isInLoad || innermost?.blocksPool == true)
  }

  /// Work in the background, which no load waits for.
  init(background executor: ThreadExecutor?) {
    self.executor = executor
    innermost = nil
    isInLoad = false
    blocksPool = false
  }

  /// Blocks the calling thread, which runs `body` with the caller's task-local values.
  @usableFromInline
  package static func wait<R: Sendable, E: Error>(
    for body: @escaping @Sendable (LoadCaller) async throws(E) -> R
  ) throws(E) -> R {
    // Finds out in which load it is before the wait's own task begins.
    let executor = ThreadExecutor()
    let caller = LoadCaller(executor: executor)
    return try executor.wait { () async throws(E) in try await body(caller) }
  }

  package var isThread: Bool { executor != nil }

  /// The load in which it was called, if that is not over.
  var load: Load? { innermost.flatMap { $0.isRunning ? $0 : nil } }

  /// Refuses a load that the caller runs inside, and that would wait for itself.
  ///
  /// - Parameter includesTasks: Whether a task that was started in the load counts as part of it. It is not if the load
  ///   does not wait for it, which only a wait shows.
  /// - Throws: `.recursiveLoad`
  func checkRecursion(_ key: ByteKey, _ cache: SingleFlight, includesTasks: Bool) throws(CacheError) {
    var next = load
    var isInside = includesTasks || isInLoad
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

  package func sleep(nanoseconds: Int64) async throws {
    if executor != nil {
      MonotonicClock.sleep(nanoseconds: nanoseconds)
    } else {
      try await Task.sleep(for: .nanoseconds(nanoseconds))
    }
  }
}

/// One run of a closure that loads a value.
///
/// While the closure runs, ``current`` is its load, in the task that runs it and in the tasks that it starts.
final class Load: Sendable {
  /// The load whose closure, or a task that was started in it, is running.
  @TaskLocal private static var innermost: Load?

  let key: ByteKey
  fileprivate let cache: ObjectIdentifier
  /// The load that this one was started in, as long as it runs.
  fileprivate let parent: Mutex<Load?>
  /// Whether the parent's own task started this one, and waits for it.
  fileprivate let isAwaited: Bool
  /// Whether the closure runs on a thread of Swift's pool.
  fileprivate let blocksPool: Bool
  private let isWritten = Atomic<Bool>(false)
  private let invalidation = Atomic<UInt64>(0)
  private let tags = Mutex(Tags())
  /// The task that runs the closure, or 0.
  private let task = Atomic<Int>(0)

  init(_ key: ByteKey, of cache: SingleFlight, _ caller: LoadCaller, isOnOwnThread: Bool) {
    self.key = key
    self.cache = ObjectIdentifier(cache)
    parent = Mutex(caller.load)
    isAwaited = caller.isInLoad
    blocksPool = caller.executor == nil || !isOnOwnThread && caller.blocksPool
  }

  /// The load that this task runs inside, or that it was started in, if that is not over.
  static var current: Load? { innermost.flatMap { $0.isRunning ? $0 : nil } }

  /// Runs `body`, which starts work that no load waits for.
  static func leavingCurrent<R>(_ body: () throws -> R) rethrows -> R {
    try $innermost.withValue(nil, operation: body)
  }

  // MARK: Running

  nonisolated(nonsending) func run<R>(_ body: nonisolated(nonsending) () async throws -> R) async rethrows -> R {
    task.store(Self.currentTask, ordering: .releasing)
    defer {
      task.store(0, ordering: .releasing)
      parent.withLock { $0 = nil }
    }
    return try await Self.$innermost.withValue(self) { try await body() }
  }

  fileprivate var isRunning: Bool { task.load(ordering: .acquiring) != 0 }

  /// Whether the calling task runs the closure.
  fileprivate var isRunningHere: Bool { isRunning && task.load(ordering: .acquiring) == Self.currentTask }

  /// A number that no other task has that is alive; 0 outside of tasks.
  fileprivate static var currentTask: Int { unsafe withUnsafeCurrentTask { unsafe $0?.hashValue } ?? 0 }

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
