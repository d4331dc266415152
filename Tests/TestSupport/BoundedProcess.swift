import Foundation

/// Runs another program with a time limit: one that hangs is killed and reported.
package enum BoundedProcess {
  /// Runs a program built with the tests on the input `lines`, and waits for it at most `seconds`.
  package static func run(
    _ program: String, _ arguments: [String] = [], input lines: [String] = [], within seconds: Int = 60
  ) throws -> ProcessOutcome {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bounded-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Files instead of pipes: a forked process left behind would keep a pipe open.
    let (input, output) = (folder.appendingPathComponent("input"), folder.appendingPathComponent("output"))
    try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: input)
    try Data().write(to: output)
    let (source, sink) = (try FileHandle(forReadingFrom: input), try FileHandle(forWritingTo: output))
    defer {
      try? source.close()
      try? sink.close()
    }
    guard let nowhere = FileHandle(forUpdatingAtPath: "/dev/null") else { throw POSIXError(.ENOENT) }
    let process = try LaunchedProcess(
      URL(fileURLWithPath: ChildProcess.path(of: program)), arguments, input: source, output: sink, errors: nowhere)
    let ending = process.wait(until: Date(timeIntervalSinceNow: Double(seconds)))
    if ending == nil {
      process.signal(SIGKILL)
      process.wait()
    }
    let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
    let answers = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    return ProcessOutcome(ending: ending ?? .hung, answers: answers)
  }
}
