import CXXHash
import Foundation
import LMDBCaching
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// `top` watches a cache that this process has open.
@Suite struct TopTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func open() throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 26
    return try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: configuration)
  }

  // Blocking calls belong in synchronous functions, outside of tasks.

  private func make() throws { try open().close() }

  private func end(_ cache: LMDBCache) throws { try cache.close() }

  private func written() throws -> LMDBCache {
    let cache = try open()
    try cache.set("value", forKey: "key")
    try cache.set("value", forKey: "other")
    try cache.flush()
    return cache
  }

  private struct Sample: Decodable {
    struct Rates: Decodable { let memoryHits, sets: Double }
    struct Counts: Decodable { let memoryHits, misses, sets: Int }
    struct Latencies: Decodable {
      struct Quantiles: Decodable { let p50Nanoseconds, p99Nanoseconds: Int }
      let memoryHits, commits: Quantiles?
    }
    struct Process: Decodable { let process: Int32 }
    let directory: String
    let date: Date
    let hitRatio: Double?
    let perSecond: Rates?
    let total: Counts
    let overallLatencies: Latencies
    let processes: [Process]
  }

  /// Whether the tool reports this process's statistics.
  private func isPublished(_ sets: Int) async throws -> Bool {
    let result = try await Tool.run("top", "--json", "--interval", "0.1", "--cache", scratch.cache)
    return try result.json(as: Sample.self).total.sets == sets
  }

  @Test func aCacheThatNobodyHasOpen() async throws {
    try make()
    try await scratch.expect(
      """
      $ top
      ~ 0 processes
      ~ No process has the cache open
      ~ files \n^ \u{1B}
      $ top --json
      ~ databaseBytes
      """)
    let json = try await Tool.run("top", "--json", "--cache", scratch.cache).json(as: Sample.self)
    #expect(json.processes.isEmpty && json.hitRatio == nil && json.perSecond == nil)
  }

  @Test func whatProcessesDoIsShown() async throws {
    let cache = try written()
    let hasPublished = try await becomesTrueWhen { try await isPublished(2) }
    #expect(hasPublished)
    let isDone = Guarded(false)
    let reading = DispatchGroup()
    inBackground(reading) {
      while !isDone.current {
        for _ in 0..<100 { _ = try? cache.value(String.self, forKey: "key") }
        _ = try? cache.value(String.self, forKey: "none")
        usleep(1_000)
      }
    }
    var sample: Sample?
    let isSeen = try await becomesTrueWhen {
      sample = try await Tool.run("top", "--json", "--cache", scratch.cache).json(as: Sample.self)
      return sample?.perSecond.map { $0.memoryHits > 0 } ?? false
    }
    isDone { $0 = true }
    reading.wait()
    #expect(isSeen)
    let found = try #require(sample)
    #expect(found.directory.hasSuffix("/cache"))
    #expect(abs(found.date.timeIntervalSinceNow) < 600)
    let ratio = try #require(found.hitRatio)
    #expect(ratio > 0.9 && ratio < 1)
    #expect(found.total.sets == 2)
    #expect(found.total.memoryHits > found.total.misses)
    #expect(found.perSecond?.sets == 0)
    #expect(found.overallLatencies.memoryHits.map { $0.p50Nanoseconds <= $0.p99Nanoseconds } ?? false)
    #expect(found.overallLatencies.commits != nil)
    #expect(found.processes.map(\.process) == [getpid()])
    // The tool itself never counts as a process of the cache.
    try await scratch.expect(
      """
      $ top --json
      { diskEntries=2 memoryEntries=2 isHealthy=true unreadableProcesses=0
      $ top --once --interval 0.2
      ~ 1 process
      ~ \(getpid())
      ~ hit ratio
      ~ reads/s
      ~ writes/s
      ~ commits/s
      ~ memory hit
      ~ p99
      ~ disk
      ~ database
      """)
    try end(cache)
  }

  private func becomesTrueWhen(_ condition: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(90)
    while ContinuousClock.now < deadline {
      if try await condition() { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }

  @Test func whatIsNoCacheIsAnError() async throws {
    for path in ["@", "@.", "/dev/null/", "/"] {
      try await scratch.expect("$$66 top --cache \(path)\n! there is no cache")
    }
  }

  // MARK: On a terminal

  static let enter = "\u{1B}[?1049h"
  static let leave = "\u{1B}[?1049l"

  enum Ending: CaseIterable { case key, controlD, interrupt, terminate, hangUp, quit }

  @Test(arguments: Ending.allCases) func thePageIsDrawnAndTheTerminalRestored(_ ending: Ending) throws {
    let cache = try open()
    try cache.set("value", forKey: "key")
    let session = try TerminalSession(["top", "--interval", "0.1", "--cache", scratch.cache])
    let modes = session.terminal.modes
    #expect(session.shows("reads/s"))
    #expect(session.shows("\(getpid())"))
    #expect(session.shows("▁▁▁"))
    #expect(session.text.hasPrefix(Self.enter))
    #expect(!session.text.contains(Self.leave))
    #expect(session.terminal.modes != modes)
    switch ending {
    case .key: session.terminal.type("xq")
    case .controlD: session.terminal.type("\u{4}")
    case .interrupt: session.process.signal(SIGINT)
    case .terminate: session.process.signal(SIGTERM)
    case .hangUp: session.process.signal(SIGHUP)
    case .quit: session.process.signal(SIGQUIT)
    }
    #expect(session.end() == .exit(0))
    #expect(session.text.hasSuffix(Self.leave))
    #expect(session.text.contains("\u{1B}[?25h"))
    #expect(session.terminal.modes == modes)
    #expect(session.errors == "")
    try cache.close()
  }

  @Test func aNewSizeIsFollowed() throws {
    try make()
    let session = try TerminalSession(
      ["top", "--interval", "3600", "--cache", scratch.cache], columns: 120, rows: 40)
    #expect(session.shows("journals"))
    let start = session.output.count
    session.terminal.resize(columns: 20, rows: 5)
    session.process.signal(SIGWINCH)
    #expect(session.shows("\u{1B}[J", from: start))
    let page = String(decoding: session.output.dropFirst(start), as: UTF8.self)
    let lines = page.components(separatedBy: "\r\n").map {
      $0.replacingOccurrences(of: "\u{1B}[H", with: "").components(separatedBy: "\u{1B}")[0]
    }
    #expect(lines.count == 5)
    #expect(lines.allSatisfy { $0.count <= 20 })
    session.terminal.type("q")
    #expect(session.end() == .exit(0))
  }

  #if os(Linux)
    @Test func theShellGetsTheScreenMeanwhile() throws {
      try make()
      let session = try TerminalSession(["top", "--interval", "0.1", "--cache", scratch.cache])
      let modes = session.terminal.modes
      #expect(session.shows("hit ratio"))
      session.process.signal(SIGTSTP)
      #expect(session.shows(Self.leave))
      let status = "/proc/\(session.process.identifier)/status"
      #expect(eventually { (try? String(contentsOfFile: status, encoding: .utf8))?.contains("State:\tT") ?? false })
      #expect(session.terminal.modes == modes)
      let start = session.output.count
      session.process.signal(SIGCONT)
      #expect(session.shows(Self.enter, from: start))
      #expect(session.shows("hit ratio", from: start))
      session.terminal.type("q")
      #expect(session.end() == .exit(0))
      #expect(session.terminal.modes == modes)
    }
  #endif

  @Test func aCacheThatIsDeletedMayComeBack() throws {
    try make()
    let session = try TerminalSession(["top", "--interval", "0.1", "--cache", scratch.cache])
    #expect(session.shows("hit ratio"))
    try FileManager.default.removeItem(atPath: scratch.cache)
    #expect(session.shows("There is no cache in"))
    let start = session.output.count
    try make()
    #expect(session.shows("hit ratio", from: start))
    session.terminal.type("q")
    #expect(session.end() == .exit(0))
  }

  @Test func aTerminalThatCannotShowAPageGetsASample() throws {
    try make()
    let session = try TerminalSession(
      ["top", "--interval", "0.1", "--cache", scratch.cache], environment: ["TERM": "dumb"])
    #expect(session.end() == .exit(0))
    #expect(session.text.contains("hit ratio"))
    #expect(!session.text.contains("\u{1B}"))
  }

  /// Anyone who can write to the directory controls the name: it is shown escaped.
  @Test func aHostileNameIsEscaped() async throws {
    try make()
    var block = Data(count: 6_144)
    func put(_ bytes: some Collection<UInt8>, at offset: Int) {
      block.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
    let name = "\u{1B}[2J\u{7}evil\n"
    put(Array("LMDBCLS1".utf8), at: 0)
    put([1, 0, 0, 0, 77], at: 8)
    put([1], at: 16)
    put([UInt8(name.utf8.count)], at: 60)
    put(Array(name.utf8), at: 64)
    let check = block.withUnsafeBytes { cxxhash_64($0.baseAddress!, 6_136, 0) }
    put(withUnsafeBytes(of: check.littleEndian) { Array($0) }, at: 6_136)
    try FileManager.default.createDirectory(
      atPath: scratch.cache + "/statistics", withIntermediateDirectories: true)
    let path = scratch.cache + "/statistics/0123456789abcdef.live"
    try block.write(to: URL(fileURLWithPath: path))
    let owner = Foundation.open(path, O_RDONLY)
    defer { close(owner) }
    #expect(flock(owner, LOCK_EX) == 0)
    let result = try await Tool.run("top", "--once", "--interval", "0.1", "--cache", scratch.cache)
    #expect(result.status == 0)
    #expect(result.text.contains("77"))
    #expect(result.text.contains("\\u{1B}[2J"))
    #expect(!result.text.contains("\u{1B}"))
    #expect(!result.text.contains("\u{7}"))
  }
}
