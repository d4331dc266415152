import Foundation
import LMDBCaching

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

/// The figures that a command prints: a table, or with `--json` an object.
struct Report: Encodable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private var members: [(name: String, value: any Encodable)] = []
  private var table: TextTable
  /// Text after the table.
  var notes = ""

  init(_ alignment: TextTable.Alignment = .left) { table = TextTable([.left, alignment]) }

  /// Adds a member of the object, which is absent if `nil`, and with a label a line of the table.
  ///
  /// - Parameter text: The line's text; by default the value, with grouped digits.
  mutating func add(_ name: String, _ value: (any Encodable)?, _ label: String? = nil, _ text: String? = nil) {
    if let value { members.append((name, value)) }
    guard let label else { return }
    let number = (value as? any BinaryInteger).map { Formatting.grouped($0) }
    if let text = text ?? number ?? value.map({ "\($0)" }) { table.append([label, text]) }
  }

  /// Adds the figures of a B+ tree.
  mutating func addTree(_ name: String, _ depth: Int, branch: Int, leaf: Int, overflow: Int) {
    add("branchPages", branch)
    add("leafPages", leaf)
    add("overflowPages", overflow)
    let pages = [branch, leaf, overflow].map { Formatting.grouped($0) }
    add(name, depth, "tree", "\(depth) levels, \(pages[0]) branch, \(pages[1]) leaf and \(pages[2]) overflow pages")
  }

  mutating func addPages(_ pages: Int, of size: Int) {
    add("pageSize", size)
    add("pages", pages, "pages", "\(Formatting.grouped(pages)) of \(Formatting.grouped(size)) bytes")
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Name.self)
    for (name, value) in members { try container.encode(value, forKey: Name(stringValue: name)) }
  }

  /// Writes to standard output.
  func write(json: Bool) throws { try StandardOutput.write(json ? JSONOutput.encode(self) + "\n" : table.text + notes) }
}

struct TextTable {
  enum Alignment { case left, right }

  let alignments: [Alignment]
  private var rows: [[String]] = []
  private var widths: [Int]

  init(_ alignments: [Alignment]) {
    self.alignments = alignments
    widths = alignments.map { _ in 0 }
  }

  mutating func append(_ row: [String]) { rows.append(row) }

  /// The maximum width of a column: a longer cell shifts only its own line.
  private static let widest = 48

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
        let width = alignments[column] == .left ? widths[column] : -widths[column]
        line += (column == 0 ? "" : "  ") + Formatting.padded(cell, width)
      }
      while line.last == " " { line.removeLast() }
      return line + "\n"
    }.joined()
  }
}

/// Progress on standard error, after the first second. Hidden if it is not a terminal.
final class Progress {
  private static let width = 30
  private static let eraseLine = "\r\u{1B}[K"

  /// `nil` if unknown, to show only the number. Another total starts over.
  var total: Int? {
    didSet {
      end()
      (start, done) = (Platform.nanoseconds(), 0)
      next = start + 1_000_000_000
    }
  }
  private let isHidden: Bool
  private var done = 0
  private var start = Platform.nanoseconds()
  private var next: UInt64
  private var isShown = false

  init(total: Int? = nil) {
    self.total = total
    next = start + 1_000_000_000
    isHidden = !Platform.standardErrorIsTerminal || ProcessInfo.processInfo.environment["TERM"] == "dumb"
  }

  func advance() { show(done + 1) }

  /// Draws the line at most ten times a second.
  func show(_ done: Int) {
    self.done = done
    if isHidden { return }
    let now = Platform.nanoseconds()
    if now < next, done != total { return }
    var line = Formatting.grouped(done)
    if let total {
      let filled = total <= 0 ? Self.width : Self.width * min(done, total) / total
      let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: Self.width - filled)
      line = "[\(bar)] \(line) of \(Formatting.grouped(total))"
    }
    let rate = Int(Double(done) / Double(now - start) * 1e9)
    StandardError.write("\(Self.eraseLine)\(line), \(Formatting.grouped(rate))/s")
    (next, isShown) = (now + 100_000_000, true)
  }

  /// Clears the line for other output.
  func end() {
    if isShown { StandardError.write(Self.eraseLine) }
    isShown = false
  }

  /// Runs `body` while another thread shows the progress.
  ///
  /// - Parameters:
  ///   - total: `nil` if unknown.
  ///   - done: Called by the other thread. `nil` if unknown, to show nothing.
  static func during<R, E: Error>(
    of total: Int?, _ done: @escaping @Sendable () -> Int?, _ body: () throws(E) -> R
  ) throws(E) -> R {
    let end = DispatchSemaphore(value: 0)
    let cleared = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let progress = Progress(total: total)
      while !progress.isHidden, end.wait(timeout: .now() + .milliseconds(100)) == .timedOut, let number = done() {
        progress.show(number)
      }
      progress.end()
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

/// Quantiles of measured times.
struct Quantiles: Encodable {
  let requests, p50Nanoseconds, p99Nanoseconds, p999Nanoseconds: Int

  /// `nil` if nothing was measured.
  init?(_ histogram: LatencyHistogram) {
    guard let median = histogram.quantile(0.5), let p99 = histogram.quantile(0.99),
      let p999 = histogram.quantile(0.999)
    else { return nil }
    (requests, p50Nanoseconds, p99Nanoseconds, p999Nanoseconds) = (Int(histogram.count), median, p99, p999)
  }
}
