import Foundation

/// Shows how far something is that takes longer than a second, while it is being done.
enum ProgressWatch {
  /// Runs `body`. From its second second on, another thread asks ten times a second what is done, and draws the bar.
  ///
  /// - Parameters:
  ///   - total: `nil` where that is not known.
  ///   - done: Called by the other thread. `nil` where nobody can tell, and nothing is shown.
  static func during<R, E: Error>(
    of total: Int?, _ done: @escaping @Sendable () -> Int?, _ body: () throws(E) -> R
  ) throws(E) -> R {
    guard let bar = ProgressBar() else { return try body() }
    let start = Platform.nanoseconds()
    let end = DispatchSemaphore(value: 0)
    let cleared = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      var pause = DispatchTimeInterval.seconds(1)
      var isShown = false
      while end.wait(timeout: .now() + pause) == .timedOut, let number = done() {
        bar.show(number, of: total, nanoseconds: Platform.nanoseconds() - start)
        isShown = true
        pause = .milliseconds(100)
      }
      if isShown { bar.clear() }
      cleared.signal()
    }
    // What is written next begins on a line of its own.
    defer {
      end.signal()
      cleared.wait()
    }
    return try body()
  }
}
