import Foundation
import TestSupport
import Testing

/// The progress line appears after a second.
@Suite struct ProgressTests {
  /// A replay whose trace does not end yet.
  struct WaitingReplay {
    let trace = Pipe()
    let process: LaunchedProcess

    init(errors: FileHandle) throws {
      process = try LaunchedProcess(
        Tool.executable, ["replay", "-", "--format", "text"],
        environment: ProcessInfo.processInfo.environment.merging(["TERM": "xterm"]) { $1 },
        input: trace.fileHandleForReading, output: .nullDevice, errors: errors)
      try trace.fileHandleForReading.close()
    }

    func end() throws {
      try trace.fileHandleForWriting.write(contentsOf: Data("a\nb\na\n".utf8))
      try trace.fileHandleForWriting.close()
    }
  }

  @Test func aTerminalIsToldAndAFileIsNot() async throws {
    let scratch = try Scratch()
    let path = try scratch.file("errors", Data())
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    let terminal = try PseudoTerminal()
    let silent = try WaitingReplay(errors: file)
    let shown = try WaitingReplay(errors: terminal.program)

    var text = ""
    let deadline = ContinuousClock.now + .seconds(120)
    while !text.contains("/s"), ContinuousClock.now < deadline {
      text += String(decoding: terminal.written(), as: UTF8.self)
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(text.contains("/s"), "\(text)")
    // The silent replay began later, and the shown one has already run for more than a second.
    try silent.end()
    try shown.end()
    for replay in [silent, shown] {
      let ending = await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: replay.process.wait()) }
      }
      #expect(ending.status == 0)
    }
    text += String(decoding: terminal.written(), as: UTF8.self)
    #expect(text.hasSuffix("\r\u{1B}[K"), "\(text.debugDescription)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
  }
}
