import Synchronization

/// One of the places that a number of streams share. It is given back with its last reference, also where the stream never
/// began, since its connection had gone.
final class StreamPlace: Sendable {
  final class Count: Sendable {
    fileprivate let value = Atomic<Int>(0)
  }

  private let count: Count

  /// Returns `nil` if all places are taken.
  init?(of count: Count, _ greatest: Int) {
    guard count.value.add(1, ordering: .relaxed).newValue <= greatest else {
      count.value.subtract(1, ordering: .relaxed)
      return nil
    }
    self.count = count
  }

  deinit { count.value.subtract(1, ordering: .relaxed) }
}
