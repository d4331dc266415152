import ArgumentParser
import Foundation
import LMDBCaching

struct TopCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "top", "Shows a cache at work: what all processes that have it open do with it.",
    """
    Reads what processes publish about once a second, without opening the cache. A terminal shows a page that is \
    updated in every interval, until q or Ctrl-C. In a pipe, with --once and with --json it writes one sample after one \
    interval, since rates need two readings.

    Rates and the first two latencies are of the interval; "overall" is since each process opened the cache. All loads \
    and commits are timed, and a sample of other operations. In the list of processes, MEMORY is the number of entries \
    in memory, and WAITING the bytes of uncommitted writes.

    Examples:
      lmdb-cache top --cache ./demo
      lmdb-cache top --once --json --cache ./demo | jq .hitRatio
    """)

  @OptionGroup var option: CacheOption
  @Option(help: ArgumentHelp("How long an interval is.", valueName: "seconds")) var interval = 1.0
  @Flag(help: "Writes one sample and ends.") var once = false
  @Flag(help: "Writes one sample, as an object.") var json = false

  /// Seconds within which every process publishes its activity.
  private static let longestSilence = 3.0

  func validate() throws { if !(0.1...3_600 ~= interval) { throw ValidationError("--interval is 0.1 … 3600.") } }

  func run() throws {
    let directory = try CacheLocation.existing(option.cache).path
    if !once, !json, let terminal = Terminal() {
      try show(directory, on: terminal)
    } else {
      let sample = try self.sample(directory)
      try StandardOutput.write(
        json ? JSONOutput.encode(sample) + "\n" : TopPage(sample: sample).lines.map { $0 + "\n" }.joined())
    }
  }

  private static func read(_ directory: String) throws -> CacheActivity {
    try CacheOpening.looking { try CacheActivity.read(path: directory) }
  }

  // MARK: One sample

  private func sample(_ directory: String) throws -> TopSample {
    var meter = ActivityMeter()
    var activity = try Self.read(directory)
    var rates = meter.update(with: activity)
    let start = Platform.nanoseconds()
    let end = start + UInt64(interval * 1e9)
    let latest = start + UInt64(max(interval, Self.longestSilence) * 1e9)
    // Until each process has published, or had time to.
    while !activity.processes.isEmpty {
      let now = Platform.nanoseconds()
      if now >= latest || now >= end && rates.isComplete { break }
      Thread.sleep(forTimeInterval: min(0.1, max(0.001, Double(latest - now) / 1e9)))
      if Platform.nanoseconds() < end { continue }
      activity = try Self.read(directory)
      rates = meter.update(with: activity)
    }
    return TopSample(directory: directory, activity, rates)
  }

  // MARK: On a terminal

  private func show(_ directory: String, on terminal: Terminal) throws {
    let events = try TerminalEvents(fillsScreen: true)
    try terminal.begin()
    defer { terminal.end() }
    var meter = ActivityMeter()
    var history = TopHistory()
    var page: [String] = []
    var next = Platform.nanoseconds()
    var sample: TopSample?
    while true {
      let now = Platform.nanoseconds()
      if now >= next {
        next = max(next &+ UInt64(interval * 1e9), now)
        do {
          let activity = try Self.read(directory)
          let new = TopSample(directory: directory, activity, meter.update(with: activity))
          history.append(new)
          sample = new
        } catch {
          // The cache may be recreated.
          sample = nil
          page = [Formatting.key(directory), "", Formatting.key(ToolError(any: error)?.message ?? "\(error)")]
        }
      }
      if let sample { page = TopPage(sample: sample, history: history, columns: terminal.size.columns).lines }
      try terminal.draw(page)
      switch events.next(within: next - min(next, Platform.nanoseconds())) {
      case .key(UInt8(ascii: "q")), .key(UInt8(ascii: "Q")), .end: return
      case .key(4): return  // The end of the input: Ctrl-D.
      case .suspension:
        terminal.end()
        events.suspend()
        try terminal.begin()
      case .key, .resized, .pauseEnded: break
      }
    }
  }
}

/// The terminal of a full-screen command: the alternate screen without a cursor, and unbuffered keys. Restored when the
/// command ends, except by `SIGKILL`.
final class Terminal {
  private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
  private static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  private var original: termios?
  private var isEntered = false

  /// Returns `nil` if standard output is not a terminal that can show a page.
  init?() {
    let name = ProcessInfo.processInfo.environment["TERM"] ?? ""
    guard Platform.standardOutputIsTerminal, !name.isEmpty, name != "dumb" else { return nil }
  }

  deinit { end() }

  /// Takes the screen. Can be called again after ``end()``.
  func begin() throws(ToolError) {
    if isEntered { return }
    isEntered = true
    var settings = termios()
    // Without a keyboard there are no keys.
    if unsafe tcgetattr(STDIN_FILENO, &settings) == 0 {
      original = settings
      // Keeps signals such as Ctrl-C and Ctrl-Z.
      settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
      if unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings) != 0 { original = nil }
    }
    try StandardOutput.write(Self.enter)
  }

  func end() {
    if !isEntered { return }
    isEntered = false
    // The terminal may be gone, and the failure cannot be shown.
    do throws(ToolError) { try StandardOutput.write(Self.leave) } catch {}
    if var settings = original.take() { unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings) }
  }

  /// At least one; 80 by 24 if unknown.
  var size: (columns: Int, rows: Int) {
    var window = winsize()
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
      return (80, 24)
    }
    return (Int(window.ws_col), Int(window.ws_row))
  }

  /// Replaces the screen with as many lines as fit.
  func draw(_ lines: [String]) throws(ToolError) {
    let size = size
    var page = "\u{1B}[H"
    for (row, line) in lines.prefix(size.rows).enumerated() {
      page += (row == 0 ? "" : "\r\n") + String(line.prefix(size.columns)) + "\u{1B}[K"
    }
    try StandardOutput.write(page + "\u{1B}[J")
  }
}
