import Synchronization

/// One of a limited number of stream places. Released with its last reference, even if the stream never began.
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
