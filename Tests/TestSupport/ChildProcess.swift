package import Foundation

/// Another process that is spoken to by lines. Ended when it is released.
// Sendable: a test hands it from one thread to another, and never uses it on two at once.
package final class ChildProcess: @unchecked Sendable {
  private let process: LaunchedProcess
  private let input = Pipe()
  private let output = Pipe()
  private var buffer = Data()

  /// How a process is ended.
  package enum Ending: Sendable {
    /// At once, by a signal that it cannot notice.
    case kill
    /// By the end of its input, for one that has something to clean up.
    case endOfInput
  }

  private let ending: Ending

  /// - Parameter program: The name of a program that is built with the tests, such as `CacheTestProcess`.
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
    // Its end is what shows that nobody speaks to it any more.
    try output.fileHandleForWriting.close()
    try input.fileHandleForReading.close()
  }

  deinit {
    switch ending {
    case .kill: kill()
    case .endOfInput: end()
    }
  }

  /// Writing to a process that has ended is an error, and no signal. By a handler: what is ignored, a child ignores too.
  private static let outliveReaders: Void = {
    _ = Foundation.signal(SIGPIPE) { _ in }
  }()

  /// Ends its input, and waits for its end.
  @discardableResult package func end() -> ProcessOutcome.Ending {
    try? input.fileHandleForWriting.close()
    return process.wait()
  }

  /// Where a program is that is built with the tests, for what starts it by another one.
  package static func path(of program: String) -> String { executable(program).path }
  /// The program is started by another one, of the system: `unshare` with its options, say.
  package convenience init(_ program: String, startedBy words: [String]) throws {
    try self.init(
      URL(fileURLWithPath: "/usr/bin/env"), words + [Self.executable(program).path])
  }

  /// Suspends it, and returns when it is.
  package func suspend() {
    process.signal(SIGSTOP)
    awaitSuspension()
  }

  /// Returns when it is suspended, or has ended.
  package func awaitSuspension() {
    for _ in 0..<5_000 {
      let status = (try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)) ?? ""
      if status.isEmpty || status.contains("State:\tT") || status.contains("State:\tZ") { return }
      usleep(1_000)
    }
  }

  /// Lets it go on.
  package func resume() { process.signal(SIGCONT) }

  /// Beside the test bundle, whatever runs it.
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

  /// One that has ended answers nothing to it.
  package func send(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

  /// The next line of its output; nil: it has ended.
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

  /// Sends a command and returns the answer.
  package func run(_ line: String) -> String? {
    send(line)
    return readLine()
  }

  /// The lines it has written and will write, up to its end.
  package func readRemaining() -> [String] {
    var lines: [String] = []
    while let line = readLine() { lines.append(line) }
    return lines
  }

  /// All that it has written and will write, up to its end, as bytes.
  package func readToEnd() -> Data {
    defer { buffer = Data() }
    return buffer + ((try? output.fileHandleForReading.readToEnd()) ?? Data())
  }

  /// Ends its input: what it does then is its own business.
  package func endInput() { try? input.fileHandleForWriting.close() }

  /// Sends a signal without waiting for what it does.
  package func signal(_ number: Int32) { process.signal(number) }

  /// Ends it at once, as nothing it could notice.
  package func kill() {
    process.signal(SIGKILL)
    process.wait()
  }
}
