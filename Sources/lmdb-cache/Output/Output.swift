import Foundation

/// The destination of data only.
enum StandardOutput {
  static func write(_ data: Data) throws(ToolError) {
    do {
      try FileHandle.standardOutput.write(contentsOf: data)
    } catch {
      throw ToolError(.inputOutput, "cannot write to standard output: \(Platform.reason(of: error).text)")
    }
  }

  static func write(_ text: String) throws(ToolError) { try write(Data(text.utf8)) }

  /// Whether it is a pipe, socket or terminal without a reader.
  static var isClosed: Bool { Platform.isHungUp(FileHandle.standardOutput.fileDescriptor) }
}

/// The destination of messages and the progress bar.
enum StandardError {
  /// Writes a message on a separate line. Names and keys in it are untrusted.
  static func tell(_ message: String) { write("lmdb-cache: \(Formatting.message(message))\n") }

  static func write(_ text: String) {
    // A failure cannot be reported anywhere.
    do { try FileHandle.standardError.write(contentsOf: Data(text.utf8)) } catch {}
  }
}

/// The encoder of all `--json` output.
enum JSONOutput {
  static func encode(_ value: some Encodable, pretty: Bool = true) throws -> String {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}

struct TextTable {
  enum Alignment { case left, right }

  let alignments: [Alignment]
  private(set) var rows: [[String]] = []
  private var widths: [Int]

  init(_ alignments: [Alignment]) {
    self.alignments = alignments
    widths = alignments.map { _ in 0 }
  }

  mutating func append(_ row: [String]) { rows.append(row) }

  /// The maximum width of a column: a longer cell shifts only its own line.
  static let widest = 48

  var text: String {
    var table = self
    return table.takeText()
  }

  /// Removes the rows and returns their text. Later columns are at least as wide.
  mutating func takeText() -> String {
    for column in alignments.indices {
      widths[column] = max(widths[column], min(Self.widest, rows.lazy.map { $0[column].count }.max() ?? 0))
    }
    defer { rows.removeAll(keepingCapacity: true) }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let padding = String(repeating: " ", count: max(0, widths[column] - cell.count))
        line += (column == 0 ? "" : "  ") + (alignments[column] == .left ? cell + padding : padding + cell)
      }
      while line.last == " " { line.removeLast() }
      return line + "\n"
    }.joined()
  }
}

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

/// The progress of a copy whose total becomes known later.
final class CopyProgress {
  var total: Int? {
    // Another attempt starts over.
    didSet {
      progress.end()
      (progress, done) = (Progress(total: total), 0)
    }
  }
  private var progress = Progress(total: nil)
  private var done = 0

  func show(_ done: Int) {
    progress.advance(by: done - self.done)
    self.done = done
  }

  func end() { progress.end() }
}
