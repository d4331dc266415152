import Synchronization

/// Runs work in order on a pool of threads. Starts a thread when none is idle, and ends it after a while without work.
///
/// Dispatch blocks the caller while the system allows no more threads (`ulimit -v`, a container's process limit); this
/// pool never does.
package final class ThreadPool: Sendable {
  private struct Piece {
    let number: Int
    let body: @Sendable () -> Void
  }

  private struct State {
    /// Elements before ``first`` were taken.
    private var waiting: [Piece] = []
    private var first = 0
    private(set) var last = 0
    private var running: Set<Int> = []
    /// Including threads that are starting.
    var threads = 0
    var starting = 0
    var idle = 0

    var count: Int { waiting.count - first }

    mutating func append(_ body: @escaping @Sendable () -> Void) -> Int {
      last += 1
      waiting.append(Piece(number: last, body: body))
      return last
    }

    mutating func begin() -> Piece? {
      guard first < waiting.count else { return nil }
      let piece = waiting[first]
      // Its captures end with it.
      waiting[first] = Piece(number: piece.number) {}
      running.insert(piece.number)
      first += 1
      if first == waiting.count || first == 1_024 { removeTaken() }
      return piece
    }

    mutating func end(_ number: Int) { running.remove(number) }

    /// - Returns: Whether it was still waiting and is now removed.
    mutating func remove(_ number: Int) -> Bool {
      removeTaken()
      guard let index = waiting.firstIndex(where: { $0.number == number }) else { return false }
      waiting.remove(at: index)
      return true
    }

    private mutating func removeTaken() {
      waiting.removeSubrange(..<first)
      first = 0
    }

    func isDone(upTo number: Int) -> Bool {
      (first == waiting.count || waiting[first].number > number) && running.allSatisfy { $0 > number }
    }
  }

  private let name: String
  private let maximumCount: Int
  private let idleTime: Int64
  private let lock = ConditionLock()
  // Accessed with the lock held.
  private nonisolated(unsafe) var state = State()

  /// - Parameters:
  ///   - name: The threads' name, for debuggers.
  ///   - maximumCount: 1 to run work serially.
  ///   - idleTime: Nanoseconds.
  package init(name: String, maximumCount: Int = 1, idleTime: Int64 = 5_000_000_000) {
    self.name = name
    self.maximumCount = maximumCount
    self.idleTime = idleTime
  }

  /// Work that no thread has started.
  package var waitingCount: Int { lock.withLock { state.count } }

  /// - Parameter isKept: Whether to queue the work if no thread can be started, until one becomes free, a later one
  ///   starts, or ``drain()`` runs it. Otherwise it is dropped.
  /// - Returns: Whether a thread runs it.
  @discardableResult
  package func run(isKept: Bool = true, _ body: @escaping @Sendable () -> Void) -> Bool {
    let (number, needsThread) = lock.withLock { () -> (Int?, Bool) in
      // Starting threads may still fail.
      if !isKept, state.threads == maximumCount, state.starting == maximumCount { return (nil, false) }
      let number = state.append(body)
      if state.idle >= state.count {
        lock.signal(.work)
        return (number, false)
      }
      if state.threads == maximumCount { return (number, false) }
      state.threads += 1
      state.starting += 1
      return (number, true)
    }
    guard let number else { return false }
    guard needsThread else { return true }
    do throws(SystemError) {
      try PlatformThread.start(name: name) { [self] in
        lock.withLock { state.starting -= 1 }
        work(idleTime: idleTime)
      }
      return true
    } catch {
      return lock.withLock {
        state.starting -= 1
        endThread()
        // A serial pool with a running thread needs no other.
        if maximumCount == 1, state.threads > state.starting { return true }
        return isKept ? false : !state.remove(number)
      }
    }
  }

  /// Returns when all work queued so far is done; runs it on this thread if there is no other. Must not be called from
  /// the pool's own work.
  package func drain() {
    let last = lock.withLock { state.last }
    while true {
      let isDone = lock.withLock {
        while state.threads > 0, !state.isDone(upTo: last) { lock.wait(for: .progress) }
        if state.isDone(upTo: last) { return true }
        state.threads += 1
        return false
      }
      if isDone { return }
      work(idleTime: 0)
    }
  }

  /// A thread's loop.
  private func work(idleTime: Int64) {
    var done: Int?
    while let number = perform(after: done, idleTime) { done = number }
  }

  /// Releases a job's captures before marking it done.
  @inline(never)
  private func perform(after done: Int?, _ idleTime: Int64) -> Int? {
    guard let piece = next(after: done, idleTime) else { return nil }
    piece.body()
    return piece.number
  }

  private func next(after done: Int?, _ idleTime: Int64) -> Piece? {
    lock.withLock {
      if let done {
        state.end(done)
        lock.signalAll(.progress)
      }
      state.idle += 1
      defer { state.idle -= 1 }
      var hasTime = true
      while state.count == 0, hasTime { hasTime = lock.wait(for: .work, nanoseconds: idleTime) }
      if let next = state.begin() { return next }
      endThread()
      return nil
    }
  }

  private func endThread() {
    state.threads -= 1
    lock.signalAll(.progress)
  }
}
