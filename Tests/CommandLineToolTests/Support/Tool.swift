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

  /// Runs it and waits for its end.
  ///
  /// - Parameters:
  ///   - words: Another program that starts it, with its arguments.
  ///   - environment: Variables in addition to those of this process.
  ///   - whileRunning: Called with its process identifier once it has started.
  static func run(
    _ arguments: [String], startedBy words: [String] = [], input: Data = Data(), environment: [String: String] = [:],
    whileRunning: ((pid_t) async throws -> Void)? = nil
  ) async throws -> ToolResult {
    // Files instead of pipes, since a full pipe would block the tool.
    let scratch = try Scratch()
    let files = ["in", "out", "err"].map { scratch.url.appendingPathComponent($0) }
    try input.write(to: files[0])
    for file in files[1...] { try Data().write(to: file) }
    let process = try LaunchedProcess(
      URL(fileURLWithPath: "/usr/bin/env"), words + [path] + arguments,
      environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
      input: FileHandle(forReadingFrom: files[0]), output: FileHandle(forWritingTo: files[1]),
      errors: FileHandle(forWritingTo: files[2]))
    try await whileRunning?(process.identifier)
    let ending = await end(of: process)
    return ToolResult(
      status: try #require(ending.status, "the tool was ended: \(ending)"), output: try Data(contentsOf: files[1]),
      errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
  }

  static func end(of process: LaunchedProcess) async -> ProcessOutcome.Ending {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: process.wait()) }
    }
  }

  /// Interrupts a process once a file exists. A separate thread avoids waiting for the task pool.
  static func interrupt(_ process: pid_t, onceThereIs path: String) async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        _ = eventually { FileManager.default.fileExists(atPath: path) }
        kill(process, SIGINT)
        continuation.resume()
      }
    }
  }
}

struct ToolResult {
  let status: Int32
  let output: Data
  let errors: String

  var text: String { String(decoding: output, as: UTF8.self) }

  func json<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try decoder.decode(type, from: output)
  }
}

/// An entry in the output of `ls --json`.
struct ListedEntry: Decodable {
  let key, format: String
  let size, cost: Int
  let expires: Date?
  let created: Date
}
