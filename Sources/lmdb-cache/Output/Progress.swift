import Foundation

/// How far something is, on standard error, once it has taken longer than a second; never where that is no terminal.
struct Progress {
  private let bar = ProgressBar()
  private let total: Int?
  private let start = Platform.nanoseconds()
  private var next: UInt64
  private var done = 0
  private var isShown = false

  /// - Parameter total: `nil` where that is not known.
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

  /// Leaves the line to others.
  mutating func end() {
    if isShown { bar?.clear() }
    isShown = false
  }
}
