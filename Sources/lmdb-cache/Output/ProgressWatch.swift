import Foundation

/// Shows the progress of work that takes longer than a second.
enum ProgressWatch {
  /// Runs `body`. After one second another thread draws the progress ten times a second.
  ///
  /// - Parameters:
  ///   - total: `nil` if unknown.
  ///   - done: Called by the other thread. `nil` if unknown, to show nothing.
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
    // Later output starts on a new line.
    defer {
      end.signal()
      cleared.wait()
    }
    return try body()
  }
}
