import Foundation
import TestSupport
import Testing

/// The progress line is for a terminal. In a replay it appears after a second.
@Suite struct ProgressTests {
  @Test func aTerminalShowsTheProgressAndAFileDoesNot() throws {
    // The traces have no end yet.
    let traces = [Pipe(), Pipe()]
    let sessions = try [false, true].enumerated().map { index, showsErrors in
      let trace = traces[index].fileHandleForReading
      defer { try? trace.close() }
      return try TerminalSession(["replay", "-", "--format", "text"], input: trace, showsErrors: showsErrors)
    }
    #expect(sessions[1].shows("/s"))
    // The first replay began earlier.
    for (trace, session) in zip(traces, sessions) {
      try trace.fileHandleForWriting.write(contentsOf: Data("a\nb\na\n".utf8))
      try trace.fileHandleForWriting.close()
      #expect(session.end() == .exit(0))
    }
    #expect(sessions[1].text.hasSuffix("\r\u{1B}[K"), "\(sessions[1].text.debugDescription)")
    #expect(sessions[0].other == "")
  }

  @Test func anImportHasABar() throws {
    let scratch = try Scratch()
    let session = try TerminalSession(
      ["import", ImportTests.fixture, "--from", "yycache", "--json", "--cache", scratch.cache], showsErrors: true)
    #expect(session.end() == .exit(0))
    #expect(session.text.contains("212 of 212") && session.other.contains(#""taken""#))
  }
}
