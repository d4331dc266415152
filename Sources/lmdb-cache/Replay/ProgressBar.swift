import Foundation

/// One line on standard error that tells how far a replay is; there is none where that is no terminal.
struct ProgressBar {
  private static let width = 30
  private let total: Int
  private let eraseLine = "\r\u{1B}[K"

  init?(total: Int) {
    guard Platform.standardErrorIsTerminal, ProcessInfo.processInfo.environment["TERM"] != "dumb" else { return nil }
    self.total = total
  }

  /// Draws the line anew. To be called at most ten times a second.
  func show(_ done: Int, nanoseconds: UInt64) {
    let filled = total == 0 ? Self.width : Self.width * done / total
    let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: Self.width - filled)
    let rate = nanoseconds == 0 ? 0 : Int(Double(done) / Double(nanoseconds) * 1e9)
    StandardError.write(
      "\(eraseLine)[\(bar)] \(Formatting.grouped(done)) of \(Formatting.grouped(total)), \(Formatting.grouped(rate))/s")
  }

  func clear() { StandardError.write(eraseLine) }
}
