import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// The tool on a pseudoterminal. Ends when released.
final class TerminalSession {
  let process: LaunchedProcess
  private let program, screen: FileHandle
  private let scratch: Scratch
  private(set) var output = Data()

  /// - Parameters:
  ///   - input: Replaces the terminal's input.
  ///   - showsErrors: Whether the terminal shows the errors instead of the output.
  init(
    _ arguments: [String], environment: [String: String] = [:], columns: UInt16 = 80, rows: UInt16 = 24,
    input: FileHandle? = nil, showsErrors: Bool = false
  ) throws {
    var (master, slave): (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    guard openpty(&master, &slave, nil, nil, &size) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    screen = FileHandle(fileDescriptor: master, closeOnDealloc: true)
    program = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
    _ = fcntl(master, F_SETFL, fcntl(master, F_GETFL) | O_NONBLOCK)
    scratch = try Scratch()
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: try scratch.file("other", Data())))
    let variables = ["TERM": "xterm", "LC_ALL": "C.UTF-8"].merging(environment) { $1 }
    process = try LaunchedProcess(
      Tool.executable, arguments, environment: ProcessInfo.processInfo.environment.merging(variables) { $1 },
      input: input ?? program, output: showsErrors ? file : program, errors: showsErrors ? program : file)
  }

  deinit {
    process.signal(SIGKILL)
    process.wait()
  }

  var text: String { String(decoding: output, as: UTF8.self) }

  /// The errors, or the output if the terminal shows the errors.
  var other: String { (try? String(contentsOfFile: scratch.path("other"), encoding: .utf8)) ?? "" }

  /// The local modes of the terminal.
  var modes: UInt32 {
    var settings = termios()
    tcgetattr(program.fileDescriptor, &settings)
    return UInt32(settings.c_lflag)
  }

  func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(screen.fileDescriptor, bytes, bytes.count)
  }

  func resize(columns: UInt16, rows: UInt16) {
    var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(screen.fileDescriptor, UInt(TIOCSWINSZ), &size)
  }

  private func receive() {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(screen.fileDescriptor, &bytes, bytes.count)
    output += bytes.prefix(max(0, count))
  }

  /// Waits until the output after `start` contains the text.
  func shows(_ text: String, from start: Int = 0) -> Bool {
    eventually {
      receive()
      return String(decoding: output.dropFirst(start), as: UTF8.self).contains(text)
    }
  }

  /// Waits for its end, and drains its output so that it can end.
  func end() -> ProcessOutcome.Ending? {
    var ending: ProcessOutcome.Ending?
    _ = eventually {
      receive()
      ending = process.tryWait()
      return ending != nil
    }
    receive()
    return ending
  }
}
