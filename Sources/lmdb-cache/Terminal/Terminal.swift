import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The terminal of a full-screen command: the alternate screen without a cursor, and unbuffered keys. Restored when the
/// command ends, except by `SIGKILL`.
final class Terminal {
  /// The minimum size; a terminal without a known size counts as 80 by 24.
  struct Size: Equatable {
    var columns = 80
    var rows = 24
  }

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
    if tcgetattr(STDIN_FILENO, &settings) == 0 {
      original = settings
      // Keeps signals such as Ctrl-C and Ctrl-Z.
      settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
      if tcsetattr(STDIN_FILENO, TCSANOW, &settings) != 0 { original = nil }
    }
    try StandardOutput.write(Self.enter)
  }

  func end() {
    if !isEntered { return }
    isEntered = false
    // The terminal may be gone, and the failure cannot be shown.
    do throws(ToolError) { try StandardOutput.write(Self.leave) } catch {}
    if var settings = original.take() { tcsetattr(STDIN_FILENO, TCSANOW, &settings) }
  }

  var size: Size {
    var window = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
      return Size()
    }
    return Size(columns: Int(window.ws_col), rows: Int(window.ws_row))
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
