import Foundation
import TestSupport
import Testing

/// Runs the built tool as another process.
enum Tool {
  /// Beside the test bundle.
  static let executable: URL = {
    #if os(macOS)
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }!.bundleURL
    #else
      let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    #endif
    return bundle.deletingLastPathComponent().appendingPathComponent("lmdb-cache")
  }()

  static var path: String { executable.path }

  /// Starts it; what it writes is read by who asks.
  static func start(_ arguments: String...) throws -> ChildProcess { try ChildProcess(executable, arguments) }

  /// Runs it to its end by another program, which gets the tool's path and its arguments behind its own.
  static func run(_ arguments: [String], startedBy words: [String]) async throws -> ToolResult {
    try await run(URL(fileURLWithPath: "/usr/bin/env"), words + [path] + arguments)
  }

  /// Runs it to its end.
  ///
  /// - Parameters:
  ///   - input: What it reads from standard input.
  ///   - environment: Variables in addition to those of this process.
  ///   - whileRunning: Called once it has been started, with its process identifier.
  static func run(
    _ arguments: String..., input: Data = Data(), environment: [String: String] = [:],
    whileRunning: ((pid_t) async throws -> Void)? = nil
  ) async throws -> ToolResult {
    try await run(arguments, input: input, environment: environment, whileRunning: whileRunning)
  }

  /// The same with an array.
  static func run(
    _ arguments: [String], input: Data = Data(), environment: [String: String] = [:],
    whileRunning: ((pid_t) async throws -> Void)? = nil
  ) async throws -> ToolResult {
    try await run(executable, arguments, input: input, environment: environment, whileRunning: whileRunning)
  }

  private static func run(
    _ executable: URL, _ arguments: [String], input: Data = Data(), environment: [String: String] = [:],
    whileRunning: ((pid_t) async throws -> Void)? = nil
  ) async throws -> ToolResult {
    // Through files, since a pipe that nobody empties would stop the tool.
    let scratch = try Scratch()
    let files = ["in", "out", "err"].map { scratch.url.appendingPathComponent($0) }
    try input.write(to: files[0])
    for file in files[1...] { try Data().write(to: file) }
    let process = try LaunchedProcess(
      executable, arguments, environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
      input: FileHandle(forReadingFrom: files[0]), output: FileHandle(forWritingTo: files[1]),
      errors: FileHandle(forWritingTo: files[2]))
    try await whileRunning?(process.identifier)
    return ToolResult(
      status: try await status(of: process), output: try Data(contentsOf: files[1]),
      errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
  }

  /// Runs it to its end with a terminal as its standard output, which holds no more than a few lines.
  static func runOnTerminal(_ arguments: String...) async throws -> ToolResult {
    let scratch = try Scratch()
    let errors = scratch.url.appendingPathComponent("err")
    try Data().write(to: errors)
    let terminal = try PseudoTerminal()
    let process = try LaunchedProcess(
      executable, arguments, environment: ProcessInfo.processInfo.environment, input: .nullDevice,
      output: terminal.program, errors: FileHandle(forWritingTo: errors))
    return ToolResult(
      status: try await status(of: process), output: terminal.written(),
      errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
  }

  /// Runs it to its end with a terminal as its standard error, which holds no more than a few lines.
  static func runWithErrorsOnTerminal(_ arguments: String...) async throws -> ToolResult {
    let scratch = try Scratch()
    let output = scratch.url.appendingPathComponent("out")
    try Data().write(to: output)
    let terminal = try PseudoTerminal()
    let process = try LaunchedProcess(
      executable, arguments, environment: ProcessInfo.processInfo.environment.merging(["TERM": "xterm"]) { $1 },
      input: .nullDevice, output: FileHandle(forWritingTo: output), errors: terminal.program)
    return ToolResult(
      status: try await status(of: process), output: try Data(contentsOf: output),
      errors: String(decoding: terminal.written(), as: UTF8.self))
  }

  private static func status(of process: LaunchedProcess) async throws -> Int32 {
    let ending = await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: process.wait()) }
    }
    return try #require(ending.status, "the tool was ended: \(ending)")
  }
}
