import Foundation

/// One line on standard error that tells how far something is; there is none where that is no terminal.
struct ProgressBar {
  private static let width = 30
  private let eraseLine = "\r\u{1B}[K"

  init?() {
    guard Platform.standardErrorIsTerminal, ProcessInfo.processInfo.environment["TERM"] != "dumb" else { return nil }
  }

  /// Draws the line anew. To be called at most ten times a second.
  ///
  /// - Parameter total: `nil` where that is not known: there is no bar then, and the number goes on.
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
