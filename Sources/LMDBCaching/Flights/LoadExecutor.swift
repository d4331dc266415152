import Platform
import Synchronization

/// Where loads run beside their callers: those of the background, and those that have a time limit.
///
/// They are tasks, so that they have the task-local values of their callers, such as the span that is a trace's parent.
/// They run on threads of their own, since they may block: neither Swift's pool nor that of Dispatch, which on Linux has as
/// many threads as there are processors, is kept from other work by them. There are as many threads as loads, up to 128.
final class LoadExecutor: TaskExecutor {
  /// That of this process: in a child of `fork` the parent's threads are missing.
  private static var shared: LoadExecutor {
    let known = latest.load(ordering: .acquiring)
    if let executor = executor(at: known), executor.threads.isOfThisProcess { return executor }
    // Never released: somebody may have it.
    let new = Unmanaged.passRetained(LoadExecutor())
    let (isExchanged, present) = latest.compareExchange(
      expected: known, desired: UInt(bitPattern: new.toOpaque()), ordering: .acquiringAndReleasing)
    if isExchanged { return new.takeUnretainedValue() }
    new.release()
    return executor(at: present).unsafelyUnwrapped
  }

  /// Its address; 0: none yet.
  private static let latest = Atomic<UInt>(0)

  private static func executor(at address: UInt) -> LoadExecutor? {
    UnsafeRawPointer(bitPattern: address).map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
  }

  /// With more loads at a time the others wait.
  private let threads = ThreadPool(name: "LMDB loads", maximumCount: 128)

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

  /// Where the system allows no more threads a load waits for one. (Dispatch would make the caller wait, whatever its limit
  /// of time is.)
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    threads.run { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
