import Synchronization

/// What was asked of a remote tier.
final class RemoteCounters: Sendable {
  let requests = Atomic<Int>(0)
  let failures = Atomic<Int>(0)
  private let time = Atomic<Int64>(0)
  let hits = Atomic<Int>(0)
  let misses = Atomic<Int>(0)
  let invalidations = Atomic<Int>(0)
  let gaps = Atomic<Int>(0)
  let loads = Atomic<Int>(0)
  let unreadable = Atomic<Int>(0)
  let givenUp = Atomic<Int>(0)
  let breakerOpenings = Atomic<Int>(0)

  func note(nanoseconds: Int64, isFailure: Bool) {
    requests.add(1, ordering: .relaxed)
    if isFailure { failures.add(1, ordering: .relaxed) }
    time.add(nanoseconds, ordering: .relaxed)
  }

  var requestTime: Duration { .nanoseconds(time.load(ordering: .relaxed)) }
}
