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
/// A thread that has the turn gets it again, and one that has waited for two seconds continues without.
package final class Turn: Sendable {
  private let owner = Atomic<UInt>(0)

  package init() {}

  private static var thread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }

  /// Returns whether the turn was taken and must be ended.
  package func begin() -> Bool {
    let thread = Self.thread
    var round = 0
    while true {
      let (isTaken, present) = owner.compareExchange(expected: 0, desired: thread, ordering: .acquiringAndReleasing)
      if isTaken { return true }
      if present == thread || round == 2_200 { return false }
      round += 1
      if round > 200 { usleep(1_000) } else if round > 100 { sched_yield() }
    }
  }

  /// Runs `write`, and ends the turn if it was taken, on any thread.
  package func end<R, E: Error>(_ isTaken: Bool, after write: () throws(E) -> R) throws(E) -> R {
    if isTaken { owner.store(Self.thread, ordering: .relaxed) }
    defer { if isTaken { owner.store(0, ordering: .releasing) } }
    return try write()
  }

  package func take<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R { try end(begin(), after: body) }
}
