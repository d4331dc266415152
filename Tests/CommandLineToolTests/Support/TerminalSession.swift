import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// The tool on a terminal, with simulated input.
final class TerminalSession {
  let terminal: PseudoTerminal
  let process: LaunchedProcess
  private let scratch: Scratch
  private(set) var output = Data()

  init(_ arguments: [String], environment: [String: String] = [:], columns: UInt16 = 80, rows: UInt16 = 24) throws {
    scratch = try Scratch()
    terminal = try PseudoTerminal(columns: columns, rows: rows)
    let errors = URL(fileURLWithPath: try scratch.file("err", Data()))
    let variables = ["TERM": "xterm", "LC_ALL": "C.UTF-8"].merging(environment) { $1 }
    process = try LaunchedProcess(
      Tool.executable, arguments, environment: ProcessInfo.processInfo.environment.merging(variables) { $1 },
      input: terminal.program, output: terminal.program, errors: FileHandle(forWritingTo: errors))
  }

  deinit {
    process.signal(SIGKILL)
    process.wait()
  }

  var text: String { String(decoding: output, as: UTF8.self) }

  var errors: String { (try? String(contentsOfFile: scratch.path("err"), encoding: .utf8)) ?? "" }

  /// Waits until the output after `start` contains the text.
  func shows(_ text: String, from start: Int = 0) -> Bool {
    eventually {
      output += terminal.written()
      return String(decoding: output.dropFirst(start), as: UTF8.self).contains(text)
    }
  }

  /// Waits for its end, and drains its output so that it can end.
  func end() -> ProcessOutcome.Ending? {
    var ending: ProcessOutcome.Ending?
    _ = eventually {
      output += terminal.written()
      ending = process.tryWait()
      return ending != nil
    }
    output += terminal.written()
    return ending
  }
}
