import Synchronization

/// Does pieces of work on threads of its own, in their order. A thread begins when there is work that no other one is free
/// for, and ends when it has had none for a while.
///
/// Dispatch makes a caller wait where the system allows no more threads (`ulimit -v`, a container's limit of processes), for
/// as long as that lasts. This never does.
///
/// In a child of `fork`, which has no threads but its own, it does nothing.
package final class ThreadPool: Sendable {
  private struct Piece {
    let number: Int
    let body: @Sendable () -> Void
  }

  private struct State {
    /// Those before ``first`` are taken.
    private var waiting: [Piece] = []
    private var first = 0
    private(set) var last = 0
    private var running: Set<Int> = []
    /// Those that are being started included.
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
      running.insert(piece.number)
      first += 1
      if first == waiting.count || first == 1_024 { removeTaken() }
      return piece
    }

    mutating func end(_ number: Int) { running.remove(number) }

    /// - Returns: Whether nobody has begun with it, and nobody will.
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
  private let process = getpid()
  private let lock = ConditionLock()
  // Unsafe in name only: touched with the lock held.
  private nonisolated(unsafe) var state = State()

  /// - Parameters:
  ///   - name: Of the threads, for debuggers.
  ///   - maximumCount: With one thread nothing is done at the same time as something else.
  ///   - idleTime: Nanoseconds.
  package init(name: String, maximumCount: Int = 1, idleTime: Int64 = 5_000_000_000) {
    self.name = name
    self.maximumCount = maximumCount
    self.idleTime = idleTime
  }

  /// Whether this is not a child of the process that made it.
  package var isOfThisProcess: Bool { getpid() == process }

  /// How many pieces of work no thread has begun with.
  package var waitingCount: Int { lock.withLock { state.count } }

  /// - Parameter isKept: Whether it waits if no thread can be made for it: until another one is free, there is one for what
  ///   comes later, or for ``drain()``. If not it is forgotten.
  /// - Returns: Whether a thread does it. In a child `false`, and it is forgotten.
  @discardableResult
  package func run(isKept: Bool = true, _ body: @escaping @Sendable () -> Void) -> Bool {
    guard isOfThisProcess else { return false }
    let (number, needsThread) = lock.withLock { () -> (Int?, Bool) in
      // Those that are being started may fail.
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
        // What has one thread has no use for another.
        if maximumCount == 1, state.threads > state.starting { return true }
        return isKept ? false : !state.remove(number)
      }
    }
  }

  /// Returns when everything was done that was there. Does it itself where there is no thread that could. Not to be called by
  /// what is being done.
  package func drain() {
    guard isOfThisProcess else { return }
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

  /// What a thread does until there is nothing to do.
  private func work(idleTime: Int64) {
    var done: Int?
    while let number = perform(after: done, idleTime) { done = number }
  }

  /// What a piece has hold of is let go of before it counts as done.
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
