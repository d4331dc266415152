import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Serializes the changes of a reference's content.
///
/// It cannot deadlock: user code runs in a turn, may take turns of other references, and may resume on another thread.
/// A thread that has the turn gets it again, and a turn that lasts for two seconds is taken over.
package final class Turn: Sendable {
  private let owner = Atomic<UInt>(0)
  /// How many turns were taken. A queue that moves is waited in.
  private let count = Atomic<Int>(0)
  private let waiting = Atomic<Int>(0)

  package init() {}

  private static var thread: UInt {
    #if canImport(Glibc)
      UInt(pthread_self())
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  /// Microseconds between looks, and looks at one turn before it is taken over.
  private static let pause: UInt32 = 100
  private static let limit = 13_000

  /// Returns the thread that took the turn, for ``end(_:after:)``; 0 if it has the turn already.
  package func begin() -> UInt {
    let thread = Self.thread
    let (isTaken, present) = owner.compareExchange(expected: 0, desired: thread, ordering: .acquiringAndReleasing)
    if !isTaken {
      if present == thread { return 0 }
      waitAndTake(thread)
    }
    count.wrappingAdd(1, ordering: .relaxed)
    return thread
  }

  private func waitAndTake(_ thread: UInt) {
    waiting.add(1, ordering: .relaxed)
    defer { waiting.subtract(1, ordering: .relaxed) }
    var (round, seen) = (0, count.load(ordering: .relaxed))
    while true {
      round += 1
      if round > 100 { usleep(Self.pause) } else { sched_yield() }
      let now = count.load(ordering: .relaxed)
      if now != seen { (seen, round) = (now, min(round, 100)) }
      let present = owner.load(ordering: .relaxed)
      if present != 0, round < Self.limit { continue }
      if owner.compareExchange(expected: present, desired: thread, ordering: .acquiringAndReleasing).exchanged {
        return
      }
    }
  }

  /// Runs `write`, and ends the turn that `taken` began, on any thread.
  package func end<R, E: Error>(_ taken: UInt, after write: () throws(E) -> R) throws(E) -> R {
    let thread = Self.thread
    if taken != 0, taken != thread { _ = owner.compareExchange(expected: taken, desired: thread, ordering: .relaxed) }
    defer {
      if taken != 0 {
        _ = owner.compareExchange(expected: thread, desired: 0, ordering: .releasing)
        // A thread that takes turn after turn would leave no gap.
        if waiting.load(ordering: .relaxed) > 0 { usleep(Self.pause) }
      }
    }
    return try write()
  }

  package func take<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R { try end(begin(), after: body) }
}
