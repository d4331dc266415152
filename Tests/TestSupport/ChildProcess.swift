package import Foundation

/// A child process controlled by lines. Ended on release.
// Sendable: a test passes it between threads, and never uses it on two at once.
package final class ChildProcess: @unchecked Sendable {
  private let process: LaunchedProcess
  private let input = Pipe()
  private let output = Pipe()
  private var buffer = Data()

  package enum Ending: Sendable {
    /// Immediately, by SIGKILL.
    case kill
    /// By closing its input, for a process that must clean up.
    case endOfInput
  }

  private let ending: Ending

  /// - Parameter program: The name of a program built with the tests, such as `CacheTestProcess`.
  package convenience init(
    _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil, ending: Ending = .kill
  ) throws {
    try self.init(Self.executable(program), arguments, environment: environment, ending: ending)
  }

  package init(
    _ executable: URL, _ arguments: [String] = [], environment: [String: String]? = nil, ending: Ending = .kill
  ) throws {
    _ = Self.outliveReaders
    self.ending = ending
    process = try LaunchedProcess(
      executable, arguments, environment: environment, input: input.fileHandleForReading,
      output: output.fileHandleForWriting)
    // Only the child keeps it open, so that its end is noticed.
    try output.fileHandleForWriting.close()
    try input.fileHandleForReading.close()
  }

  deinit {
    switch ending {
    case .kill: kill()
    case .endOfInput: end()
    }
  }

  /// Turns SIGPIPE into an error. Uses a handler, because children inherit an ignored signal.
  private static let outliveReaders: Void = {
    _ = Foundation.signal(SIGPIPE) { _ in }
  }()

  /// Closes its input, and waits for its end.
  @discardableResult package func end() -> ProcessOutcome.Ending {
    try? input.fileHandleForWriting.close()
    return process.wait()
  }

  /// The path of a program built with the tests, for launching it through another program.
  package static func path(of program: String) -> String { executable(program).path }
  /// Launches the program through a system command, such as `unshare` with options.
  package convenience init(_ program: String, startedBy words: [String]) throws {
    try self.init(
      URL(fileURLWithPath: "/usr/bin/env"), words + [Self.executable(program).path])
  }

  /// Returns once it is suspended.
  package func suspend() {
    process.signal(SIGSTOP)
    awaitSuspension()
  }

  /// Returns once it is suspended or has ended.
  package func awaitSuspension() {
    for _ in 0..<5_000 {
      let status = (try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)) ?? ""
      if status.isEmpty || status.contains("State:\tT") || status.contains("State:\tZ") { return }
      usleep(1_000)
    }
  }

  package func resume() { process.signal(SIGCONT) }

  /// Next to the test bundle, under any test runner.
  private static func executable(_ program: String) -> URL {
    var folders = [Bundle.main.bundleURL]
    for argument in CommandLine.arguments where argument.contains(".xctest") {
      folders.append(URL(fileURLWithPath: argument).deletingLastPathComponent())
    }
    if let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
      folders.append(URL(fileURLWithPath: link).deletingLastPathComponent())
    }
    folders += folders.map { $0.deletingLastPathComponent() }
    let found = folders.map { $0.appendingPathComponent(program) }
      .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    return found ?? URL(fileURLWithPath: program)
  }

  package var identifier: Int32 { process.identifier }

  /// Does nothing if the process has ended.
  package func send(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

  /// The next line of its output, or nil if it has ended.
  package func readLine() -> String? {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer = Data(buffer[(end + 1)...]) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      buffer.append(more)
    }
  }

  package func run(_ line: String) -> String? {
    send(line)
    return readLine()
  }

  /// The remaining lines of its output, up to its end.
  package func readRemaining() -> [String] {
    var lines: [String] = []
    while let line = readLine() { lines.append(line) }
    return lines
  }

  /// All remaining bytes of its output, up to its end.
  package func readToEnd() -> Data {
    defer { buffer = Data() }
    return buffer + ((try? output.fileHandleForReading.readToEnd()) ?? Data())
  }

  /// Closes its input, without waiting.
  package func endInput() { try? input.fileHandleForWriting.close() }

  /// Sends a signal, without waiting.
  package func signal(_ number: Int32) { process.signal(number) }

  /// Ends it with SIGKILL.
  package func kill() {
    process.signal(SIGKILL)
    process.wait()
  }
}
