import Platform
import Synchronization

/// One run of a closure that loads a value.
///
/// While the closure runs, ``current`` is its load, in the thread or task that runs it and in the tasks that it starts.
final class Load: Sendable {
  /// How many runs of one key's loads may be inside each other. A load that needs itself would go on until the stack ends.
  static let maximumDepth = 8

  /// The load whose closure, or a task that was started in it, is running.
  @TaskLocal private static var innermost: Load?
  /// The load that cannot end before what happens here has, since what runs it waits. Nobody looks at it inside another
  /// load.
  @TaskLocal private static var awaiting: Load?

  let key: ByteKey
  /// Whether the value is stored: not if the load runs inside another one of its key, whose value is.
  let isStored: Bool
  private let cache: ObjectIdentifier
  /// The load that this one runs inside, as long as it runs.
  private let parent: Mutex<Load?>
  private let isWritten = Atomic<Bool>(false)
  private let invalidation = Atomic<UInt64>(0)
  /// What runs the closure, or 0 if nothing does.
  private let thread = Atomic<UInt>(0)
  private let task = Atomic<Int>(0)

  /// - Throws: `.recursiveLoad`
  init(_ key: ByteKey, of cache: SingleFlight, isStored: Bool) throws(CacheError) {
    self.key = key
    self.isStored = isStored
    self.cache = ObjectIdentifier(cache)
    let parent = Load.current
    self.parent = Mutex(parent)
    if depth > Self.maximumDepth {
      throw CacheError(
        .recursiveLoad,
        "The load of \(quoted(key.string)) asks for that value itself, \(Self.maximumDepth) times inside each other. "
          + "Make it end without asking again.")
    }
  }

  /// The load that this thread or task runs inside, or that it was started in, if that is not over.
  static var current: Load? { innermost.flatMap { $0.isRunning ? $0 : nil } }

  // MARK: Running

  func run<R>(_ body: () throws -> R) rethrows -> R {
    thread.store(Self.currentThread, ordering: .releasing)
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

  /// Runs `body`, which makes a task that does what the caller is about to do.
  ///
  /// - Parameter isAwaited: Whether the caller waits for it.
  static func handingOver<R>(isAwaited: Bool, _ body: () throws -> R) rethrows -> R {
    let load = isAwaited ? current.flatMap { $0.isRunningHere ? $0 : nil } : nil
    return try $awaiting.withValue(load, operation: body)
  }

  /// Whether it is this very thread or task that runs the closure, or waits for this one to go on with it: then the load
  /// cannot end before the caller returns.
  var isRunningHere: Bool {
    if Self.awaiting === self { return true }
    let thread = thread.load(ordering: .acquiring)
    if thread != 0 { return thread == Self.currentThread }
    let task = task.load(ordering: .acquiring)
    return task != 0 && task == Self.currentTask
  }

  private static var currentThread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }

  /// A number that no other task has that is alive; 0 outside of tasks.
  private static var currentTask: Int { withUnsafeCurrentTask { $0?.hashValue } ?? 0 }

  /// How many loads of the key run inside each other, with this one.
  private var depth: Int {
    var depth = 1
    var next = parent.withLock { $0 }
    while let load = next {
      if load.key == key, load.cache == cache, load.isRunning { depth += 1 }
      next = load.parent.withLock { $0 }
    }
    return depth
  }

  // MARK: Writes of the key

  /// Whether the key was written since the load began, or nobody waits for the load any more: the value is not stored.
  var isSuperseded: Bool { isWritten.load(ordering: .acquiring) }

  /// Makes the value not be stored. A write of the key does so with the store's lock held, before it can be read.
  func supersede() { isWritten.store(true, ordering: .releasing) }

  /// Notes a change that was made in a remote tier: what was loaded is stored only if it is of this revision or a later one.
  func invalidate(below revision: UInt64) { invalidation.max(revision, ordering: .releasing) }

  /// Whether no later change of the remote tier is known than the one that made a value.
  func isNewest(_ revision: UInt64) -> Bool { invalidation.load(ordering: .acquiring) <= revision }

  /// Whether the value, of a revision of a remote tier, is the newest as far as is known.
  func isCurrent(at revision: UInt64) -> Bool { !isSuperseded && isNewest(revision) }
}
