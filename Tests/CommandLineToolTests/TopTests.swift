import Foundation
import LMDBCaching
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// `top` watches a cache that this process has open.
@Suite(.ownThreads) struct TopTests {
  let scratch = try! Scratch()

  private func make() throws { try scratch.open().close() }

  private struct Sample: Decodable {
    struct Rates: Decodable { let memoryHits, sets: Double }
    struct Counts: Decodable { let memoryHits, misses, sets: Int }
    struct Quantiles: Decodable { let p50Nanoseconds, p99Nanoseconds: Int }
    struct Latencies: Decodable { let memoryHits, commits: Quantiles? }
    struct Process: Decodable { let process: Int32 }
    let directory: String, date: Date, hitRatio: Double?, perSecond: Rates?, total: Counts
    let overallLatencies: Latencies, processes: [Process]
  }

  private func sample() async throws -> Sample { try await scratch.run("top", "--json").json() }

  @Test func aCacheThatNobodyHasOpen() async throws {
    try scratch.fill(1)
    try await scratch.expect(
      """
      $ top
      ~ 0 processes
      ~ No process has the cache open
      ~ files \n^ \u{1B}
      $ top --json
      ~ databaseBytes
      { processes=[]
      ^ perSecond
      """)
  }

  @Test func whatProcessesDoIsShown() async throws {
    let cache = try scratch.open()
    for key in ["key", "other"] { try cache.set("value", forKey: key) }
    try await cache.flush()
    let isDone = Guarded(false)
    let reading = DispatchGroup()
    inBackground(reading) {
      while !isDone.current {
        for _ in 0..<100 { _ = try? cache.value(String.self, forKey: "key") }
        _ = try? cache.value(String.self, forKey: "none")
        usleep(1_000)
      }
    }
    defer {
      isDone { $0 = true }
      reading.wait()
    }
    var found = try await sample()
    let deadline = ContinuousClock.now + .seconds(90)
    while found.total.sets != 2 || found.perSecond.map({ $0.memoryHits == 0 || $0.sets > 0 }) ?? true,
      ContinuousClock.now < deadline
    {
      found = try await sample()
    }
    #expect(found.directory.hasSuffix("/cache") && abs(found.date.timeIntervalSinceNow) < 600)
    let ratio = try #require(found.hitRatio)
    #expect(ratio > 0.9 && ratio < 1 && found.perSecond?.sets == 0)
    #expect(found.total.sets == 2 && found.total.memoryHits > found.total.misses)
    #expect(found.overallLatencies.memoryHits.map { $0.p50Nanoseconds <= $0.p99Nanoseconds } ?? false)
    #expect(found.overallLatencies.commits != nil && found.processes.map(\.process) == [getpid()])
    // The tool itself never counts as a process of the cache.
    try await scratch.expect(
      """
      $ top --json
      { diskEntries=2 memoryEntries=2 isHealthy=true unreadableProcesses=0
      $ top --once --interval 0.2
      ~ 1 process
      ~ \(getpid())
      ~ hit ratio
      ~ commits/s
      ~ memory hit
      ~ p99
      ~ database
      """)
    try await cache.close()
  }

  // MARK: On a terminal

  static let enter = "\u{1B}[?1049h"
  static let leave = "\u{1B}[?1049l"

  private func session(_ interval: String = "0.1", columns: UInt16 = 80, rows: UInt16 = 24) throws -> TerminalSession {
    try TerminalSession(["top", "--interval", interval, "--cache", scratch.cache], columns: columns, rows: rows)
  }

  private func expectEnd(of session: TerminalSession, by key: String? = "q") {
    if let key { session.type(key) }
    #expect(session.end() == .exit(0))
  }

  /// Keys end it, and so do signals.
  @Test(
    arguments: [("xq", 0), ("\u{4}", 0), (nil, SIGINT), (nil, SIGTERM), (nil, SIGHUP), (nil, SIGQUIT)]
      as [(String?, Int32)])
  func thePageIsDrawnAndTheTerminalRestored(_ key: String?, _ signal: Int32) throws {
    let cache = try scratch.open()
    try cache.set("value", forKey: "key")
    let session = try session()
    let modes = session.modes
    for text in ["reads/s", "\(getpid())", "▁▁▁"] { #expect(session.shows(text), "\(text)") }
    #expect(session.text.hasPrefix(Self.enter) && !session.text.contains(Self.leave) && session.modes != modes)
    if key == nil { session.process.signal(signal) }
    expectEnd(of: session, by: key)
    #expect(session.text.hasSuffix(Self.leave) && session.text.contains("\u{1B}[?25h"))
    #expect(session.modes == modes && session.other == "")
    try cache.close()
  }

  @Test func theSizeAndTheKindOfTheTerminalAreFollowed() throws {
    try make()
    // A terminal that cannot show a page gets a sample.
    let plain = try TerminalSession(["top", "--cache", scratch.cache], environment: ["TERM": "dumb"])
    expectEnd(of: plain, by: nil)
    #expect(plain.text.contains("hit ratio") && !plain.text.contains("\u{1B}"))
    let session = try session("3600", columns: 120, rows: 40)
    #expect(session.shows("journals"))
    let start = session.output.count
    session.resize(columns: 20, rows: 5)
    session.process.signal(SIGWINCH)
    #expect(session.shows("\u{1B}[J", from: start))
    let page = String(decoding: session.output.dropFirst(start), as: UTF8.self)
    let lines = page.components(separatedBy: "\r\n").map {
      $0.replacingOccurrences(of: "\u{1B}[H", with: "").components(separatedBy: "\u{1B}")[0]
    }
    #expect(lines.count == 5 && lines.allSatisfy { $0.count <= 20 })
    expectEnd(of: session)
  }

  #if os(Linux)
    @Test func theShellGetsTheScreenMeanwhile() throws {
      try make()
      let session = try session()
      let modes = session.modes
      #expect(session.shows("hit ratio"))
      session.process.signal(SIGTSTP)
      #expect(session.shows(Self.leave))
      let status = "/proc/\(session.process.identifier)/status"
      #expect(eventually { (try? String(contentsOfFile: status, encoding: .utf8))?.contains("State:\tT") ?? false })
      #expect(session.modes == modes)
      let start = session.output.count
      session.process.signal(SIGCONT)
      #expect(session.shows(Self.enter, from: start))
      #expect(session.shows("hit ratio", from: start))
      expectEnd(of: session)
      #expect(session.modes == modes)
    }
  #endif

  @Test func aCacheThatIsDeletedMayComeBack() throws {
    try make()
    let session = try session()
    #expect(session.shows("hit ratio"))
    try FileManager.default.removeItem(atPath: scratch.cache)
    #expect(session.shows("There is no cache in"))
    let start = session.output.count
    try make()
    #expect(session.shows("hit ratio", from: start))
    expectEnd(of: session)
  }
}
