import Foundation
import TestSupport
import Testing

enum Tool {
  /// The executable next to the test bundle.
  static let executable: URL = {
    #if os(macOS)
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }!.bundleURL
    #else
      let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    #endif
    return bundle.deletingLastPathComponent().appendingPathComponent("lmdb-cache")
  }()

  static var path: String { executable.path }

  /// Starts it without reading its output.
  static func start(_ arguments: String...) throws -> ChildProcess { try ChildProcess(executable, arguments) }

  /// Runs it through another program, which gets the tool's path and arguments after its own.
  static func run(_ arguments: [String], startedBy words: [String]) async throws -> ToolResult {
    try await run(URL(fileURLWithPath: "/usr/bin/env"), words + [path] + arguments)
  }

  /// Runs it and waits for its end.
  ///
  /// - Parameters:
  ///   - environment: Variables in addition to those of this process.
  ///   - whileRunning: Called with its process identifier once it has started.
  static func run(
    _ arguments: String..., input: Data = Data(), environment: [String: String] = [:],
    whileRunning: ((pid_t) async throws -> Void)? = nil
  ) async throws -> ToolResult {
    try await run(arguments, input: input, environment: environment, whileRunning: whileRunning)
  }

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
    // Files instead of pipes, since a full pipe would block the tool.
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

  /// Runs it with a terminal as its standard output, which holds only a few lines.
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

  /// Runs it with a terminal as its standard error, which holds only a few lines.
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
