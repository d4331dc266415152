import Foundation
import Testing

/// Runs the built tool as another process.
enum Tool {
  /// Beside the test bundle.
  private static let executable: URL = {
    #if os(macOS)
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }!.bundleURL
    #else
      let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    #endif
    return bundle.deletingLastPathComponent().appendingPathComponent("lmdb-cache")
  }()

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
    // Through files, since a pipe that nobody empties would stop the tool.
    let scratch = try Scratch()
    let files = ["in", "out", "err"].map { scratch.url.appendingPathComponent($0) }
    try input.write(to: files[0])
    for file in files[1...] { try Data().write(to: file) }
    let process = Process()
    process.executableURL = executable
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = try FileHandle(forReadingFrom: files[0])
    process.standardOutput = try FileHandle(forWritingTo: files[1])
    process.standardError = try FileHandle(forWritingTo: files[2])
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    process.terminationHandler = { _ in end.finish() }
    try process.run()
    try await whileRunning?(process.processIdentifier)
    for await _ in ends {}
    try #require(process.terminationReason == .exit, "the tool was ended by signal \(process.terminationStatus)")
    return ToolResult(
      status: process.terminationStatus, output: try Data(contentsOf: files[1]),
      errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
  }
}
