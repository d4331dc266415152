import Foundation
import Synchronization

/// A thread that writes every two milliseconds until it is stopped, like a program with other work.
final class SteadyWriter: Sendable {
  private let isDone = Atomic<Bool>(false)
  private let count = Atomic<Int>(0)
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter write: Gets the number of the write.
  init(_ write: @escaping @Sendable (Int) throws -> Void) {
    Thread.detachNewThread { [self] in
      while !isDone.load(ordering: .relaxed) {
        do {
          try write(count.add(1, ordering: .relaxed).oldValue)
        } catch {
          fatalError("A writer failed: \(error)")
        }
        usleep(2_000)
      }
      ended.signal()
    }
  }

  /// Ends the thread. Returns the number of its writes.
  func stop() -> Int {
    isDone.store(true, ordering: .relaxed)
    ended.wait()
    return count.load(ordering: .relaxed)
  }
}
