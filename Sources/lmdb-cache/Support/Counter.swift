import Synchronization

/// A number written by one thread and read by another.
final class Counter: Sendable {
  private let number = Atomic<Int>(0)

  var value: Int {
    get { number.load(ordering: .relaxed) }
    set { number.store(newValue, ordering: .relaxed) }
  }
}
