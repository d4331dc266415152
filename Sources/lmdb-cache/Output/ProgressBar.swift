import Foundation

/// A progress line on standard error; none if it is not a terminal.
struct ProgressBar {
  private static let width = 30
  private let eraseLine = "\r\u{1B}[K"

  init?() {
    guard Platform.standardErrorIsTerminal, ProcessInfo.processInfo.environment["TERM"] != "dumb" else { return nil }
  }

  /// Redraws the line. Call at most ten times a second.
  ///
  /// - Parameter total: `nil` if unknown, to show only the number.
  func show(_ done: Int, of total: Int?, nanoseconds: UInt64) {
    var line = Formatting.grouped(done)
    if let total {
      let filled = total <= 0 ? Self.width : Self.width * min(done, total) / total
      let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: Self.width - filled)
      line = "[\(bar)] \(line) of \(Formatting.grouped(total))"
    }
    let rate = nanoseconds == 0 ? 0 : Int(Double(done) / Double(nanoseconds) * 1e9)
    StandardError.write("\(eraseLine)\(line), \(Formatting.grouped(rate))/s")
  }

  func clear() { StandardError.write(eraseLine) }
}
