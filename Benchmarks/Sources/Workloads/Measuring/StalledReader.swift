import Foundation
import Synchronization

/// A thread that reads random keys until it is stopped, and records its longest read.
final class StalledReader: Sendable {
  private let isDone = Atomic<Bool>(false)
  private let longest = Atomic<UInt64>(0)
  private let ended = DispatchSemaphore(value: 0)

  /// Returns once the thread reads.
  init(_ read: @escaping @Sendable (Int) throws -> Void) {
    let started = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [self] in
      var random = SplitMix(state: 5)
      func timeOfRead() -> UInt64 {
        let start = DispatchTime.now().uptimeNanoseconds
        do {
          try read(Int(truncatingIfNeeded: random.next() >> 2))
        } catch {
          fatalError("A reader failed: \(error)")
        }
        return DispatchTime.now().uptimeNanoseconds - start
      }
      // A thread's first reads set up its reading state.
      for _ in 0..<100 { _ = timeOfRead() }
      started.signal()
      while !isDone.load(ordering: .relaxed) {
        let taken = timeOfRead()
        if taken > longest.load(ordering: .relaxed) { longest.store(taken, ordering: .relaxed) }
      }
      ended.signal()
    }
    started.wait()
  }

  /// Ends the thread. Returns the longest wait in milliseconds.
  func stop() -> Double {
    isDone.store(true, ordering: .relaxed)
    ended.wait()
    return Double(longest.load(ordering: .relaxed)) / 1e6
  }
}
