import Synchronization

/// The writes of keys by one thread each. A read finds a write between the last one that had returned when it began
/// and the last one that had begun when it returned.
final class WriteLedger: Sendable {
  /// Twice the number of a write, plus one if it stores a value.
  private final class Key: Sendable {
    let begun = Atomic<Int>(0)
    let done = Atomic<Int>(0)
  }

  private let keys: [Key]

  init(count: Int) { keys = (0..<count).map { _ in Key() } }

  /// - Parameter version: Greater than that of the key's earlier writes.
  func write(_ key: Int, version: Int, stores: Bool, _ body: () throws -> Void) rethrows {
    let state = version * 2 + (stores ? 1 : 0)
    keys[key].begun.store(state, ordering: .sequentiallyConsistent)
    try body()
    keys[key].done.store(state, ordering: .sequentiallyConsistent)
  }

  /// Describes the fault of the version that `read` finds, or returns `nil`.
  ///
  /// - Parameter mayLose: Whether entries may go without a write.
  func fault(of key: Int, mayLose: Bool, _ read: () throws -> Int?) rethrows -> String? {
    let before = keys[key].done.load(ordering: .sequentiallyConsistent)
    let version = try read()
    let after = keys[key].begun.load(ordering: .sequentiallyConsistent)
    guard let version else {
      return mayLose || before != after || before % 2 == 0 ? nil : "\(key) is lost"
    }
    let state = version * 2 + 1
    return state >= before && state <= after ? nil : "\(key): \(state) is not from \(before) to \(after)"
  }
}
