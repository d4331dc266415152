import Foundation
import Testing

enum Program {
  struct Result {
    let status: Int32
    let lines: [String]
  }

  static func run(_ name: String, _ arguments: String...) throws -> Result {
    #if os(macOS)
      let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }!.bundleURL
    #else
      let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    #endif
    let output = Pipe()
    let process = Process()
    process.executableURL = bundle.deletingLastPathComponent().appendingPathComponent(name)
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    return Result(status: process.terminationStatus, lines: text.split(separator: "\n").map(String.init))
  }
}

/// A temporary directory, removed with the object.
final class Scratch: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("example-tests-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
