import Foundation

/// A run of another program that is over in time, whatever it does: one that hangs is killed, and says so.
package enum BoundedProcess {
  /// Runs a program that is built with the tests, gives it `lines` as its whole input, and waits for its end.
  ///
  /// - Parameter seconds: After so long the process is killed.
  package static func run(
    _ program: String, _ arguments: [String] = [], input lines: [String] = [], within seconds: Int = 60
  ) throws -> ProcessOutcome {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bounded-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Files, and not pipes: a process that is forked and left behind would hold a pipe open.
    let (input, output) = (folder.appendingPathComponent("input"), folder.appendingPathComponent("output"))
    try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: input)
    try Data().write(to: output)
    let (source, sink) = (try FileHandle(forReadingFrom: input), try FileHandle(forWritingTo: output))
    defer {
      try? source.close()
      try? sink.close()
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: ChildProcess.path(of: program))
    process.arguments = arguments
    process.standardInput = source
    process.standardOutput = sink
    process.standardError = FileHandle.nullDevice
    let hasEnded = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in hasEnded.signal() }
    try startUnblocked(process)
    let isOver = hasEnded.wait(timeout: .now() + .seconds(seconds)) == .success
    if !isOver {
      // It has not been waited for, so that its number is its own still.
      _ = kill(process.processIdentifier, SIGKILL)
      hasEnded.wait()
    }
    let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
    let answers = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    return ProcessOutcome(ending: ending(of: process, isOver), answers: answers)
  }

  /// A new process inherits which signals a worker thread blocks, and could then not be ended by one.
  private static func startUnblocked(_ process: Process) throws {
    var none = sigset_t()
    var blocked = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &blocked)
    defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
    try process.run()
  }

  private static func ending(of process: Process, _ isOver: Bool) -> ProcessOutcome.Ending {
    if !isOver { return .hung }
    if process.terminationReason == .uncaughtSignal { return .signal(process.terminationStatus) }
    return .exit(process.terminationStatus)
  }
}
