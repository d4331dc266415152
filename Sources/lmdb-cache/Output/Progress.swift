import Foundation

/// Progress on standard error, after the first second. Hidden if it is not a terminal.
struct Progress {
  private let bar = ProgressBar()
  private let total: Int?
  private let start = Platform.nanoseconds()
  private var next: UInt64
  private var done = 0
  private var isShown = false

  /// - Parameter total: `nil` if unknown.
  init(total: Int?) {
    self.total = total
    next = start + 1_000_000_000
  }

  mutating func advance(by count: Int = 1) {
    done += count
    guard let bar else { return }
    let now = Platform.nanoseconds()
    if now < next { return }
    bar.show(done, of: total, nanoseconds: now - start)
    (next, isShown) = (now + 100_000_000, true)
  }

  /// Clears the line for other output.
  mutating func end() {
    if isShown { bar?.clear() }
    isShown = false
  }
}
