import Synchronization

/// A number that one thread changes and another one looks at.
final class Counter: Sendable {
  private let number = Atomic<Int>(0)

  var value: Int {
    get { number.load(ordering: .relaxed) }
    set { number.store(newValue, ordering: .relaxed) }
  }
}
