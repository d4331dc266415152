import Foundation
import TestSupport
import Testing

@Suite(.ownThreads) struct ReplayTests {
  let scratch = try! Scratch()

  private struct Summary: Decodable {
    struct Times: Decodable { let requests: Int }
    let requests, memoryHits, diskHits, misses, evictions, memoryEvictions, diskEvictions, wrongValues: Int
    let p50Nanoseconds, p99Nanoseconds, p999Nanoseconds, bytesOnDisk: Int
    let hitRatio, seconds, requestsPerSecond: Double
    let isInterrupted: Bool
    let memoryHitTimes, diskHitTimes, hitTimes, missTimes: Times?
  }

  /// A trace that favors small numbers.
  private func trace(_ requests: Int, keys: Int) -> [UInt32] {
    var random = SeededRandom(1)
    return (0..<requests).map { _ in
      let bound = 1 + random.below(keys)
      return UInt32(random.below(bound))
    }
  }

  private func bytes(_ requests: [UInt32]) -> Data {
    Data(requests.flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } })
  }

  @Test(arguments: [1, 5])
  func theCountsAddUp(threads: Int) async throws {
    let requests = trace(20_000, keys: 2_000)
    let file = try scratch.file("trace", bytes(requests))
    let result = try await scratch.run(
      "replay", file, "--format", "u32be", "--memory-count", "200", "--threads", "\(threads)", "--json")
    #expect(result.status == 0 && result.errors == "", "a progress bar without a terminal")
    let summary: Summary = try result.json()
    #expect(summary.requests == requests.count && summary.wrongValues == 0 && !summary.isInterrupted)
    #expect(summary.memoryHits + summary.diskHits + summary.misses == requests.count)
    // Several threads may miss a key before one of them stores it.
    let keys = Swift.Set(requests).count
    #expect(threads == 1 ? summary.misses == keys : summary.misses >= keys)
    #expect(summary.memoryHits > 0 && summary.diskHits > 0 && summary.memoryEvictions > 0)
    #expect(summary.evictions == summary.memoryEvictions + summary.diskEvictions)
    #expect(abs(summary.hitRatio - 1 + Double(summary.misses) / Double(requests.count)) < 1e-9)
    #expect(summary.seconds > 0 && summary.requestsPerSecond > 0 && summary.bytesOnDisk > 0)
    let quantiles = [0, summary.p50Nanoseconds, summary.p99Nanoseconds, summary.p999Nanoseconds]
    #expect(quantiles == quantiles.sorted() && quantiles[1] > 0)
    #expect(summary.missTimes?.requests == summary.misses)
    #expect(summary.hitTimes?.requests == summary.memoryHits + summary.diskHits)
    #expect(summary.memoryHitTimes?.requests == (threads == 1 ? summary.memoryHits : nil))
    #expect(summary.diskHitTimes?.requests == (threads == 1 ? summary.diskHits : nil))
    // The second replay starts warm.
    let again: Summary = try await scratch.run("replay", file, "--format", "u32be", "--json").json()
    #expect(again.misses == 0 && again.wrongValues == 0 && again.diskHits >= keys)
  }

  @Test func withoutACacheNothingIsLeft() async throws {
    let place = try Scratch()
    try place.file("trace", bytes(trace(1_000, keys: 100)))
    try await place.expect(
      "$$ replay @trace --format u32be\n~ requests\n~ hit ratio\n~ p99.9\n~ 1,000\n^ \u{1B}",
      environment: ["TMPDIR": scratch.url.path])
    #expect(try scratch.names.isEmpty)
  }

  @Test func linesOfTextAreKeysOfValuesWithTheSizeAskedFor() async throws {
    let lines = ["a", "b", "a", "", "e\u{301}", "\u{E9}", "a key with spaces", "a", ""]
    try scratch.file("trace", Data(lines.map { $0 + "\n" }.joined().utf8))
    for count in [0, 1, 8, 5_000] {
      try await scratch.expect(
        """
        $ replay @trace --format text --value-bytes \(count) --json
        { requests=9 misses=6 memoryHits=3 wrongValues=0
        """)
      #expect(try await scratch.run("ls", "-q").output == Data("a\na key with spaces\nb\ne\u{301}\n\u{E9}\n\n".utf8))
      let (first, second) = (try await scratch.run("get", "a").output, try await scratch.run("get", "b").output)
      #expect(first.count == count && second.count == count && (count < 7 || first != second))
      if count != 5_000 { try await scratch.expect("$ clear") }
    }
    // A wrong value, and a value of another type.
    try await scratch.expect(
      """
      $ set b x --format bytes
      $65 replay @trace --format text --value-bytes 5000 --json
      { wrongValues=1
      ! 1 wrong
      $ set b text
      $65 replay @trace --format text
      ! string
      ^ \u{1B}
      """)
  }

  @Test func aDamagedTraceIs65AndMakesNoCache() async throws {
    for count in [1, 3, 4001] {
      let file = try scratch.file("trace", Data(count: count))
      try await scratch.expect("$65 replay @trace --format u32be\n! truncated\n! \(file)\n/ trace")
    }
    try scratch.file("trace", Data([97, 10, 0xFF, 10]))
    try await scratch.expect(
      """
      $$65 replay - --format u32be
      $$65 replay - --format text
      $$65 replay @trace --format text
      ! line 2
      """)
  }

  @Test func aPackedTraceIsUnpackedAndADiskTierLimited() async throws {
    let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Benchmarks/Traces/web12.trace.xz")
      .standardizedFileURL
    try scratch.file("cut.xz", try Data(contentsOf: file).prefix(1_000))
    try scratch.file("trace", bytes((0..<5_000).map { UInt32($0) }))
    try await scratch.expect(
      """
      $$ replay \(file.path) --format u32be --json
      { requests=95607 misses=13756 wrongValues=0
      $$65 replay @cut.xz --format u32be
      ! damaged
      """)
    let words = ["replay", scratch.path("trace"), "--format", "u32be", "--disk-count", "500", "--json"]
    let summary: Summary = try await Tool.run(words).json()
    #expect(summary.misses == 5_000 && summary.diskEvictions >= 4_500)
  }

  @Test func anInterruptEndsTheReplayWithTheTableSoFar() async throws {
    // Only misses, and enough of them to still be running when the signal comes.
    let count = 600_000
    let result = try await Tool.run(
      ["replay", "-", "--format", "u32be", "--json", "--cache", scratch.cache],
      input: bytes((0..<UInt32(count)).map { $0 })
    ) {
      // The tool installs its handler before it creates the cache.
      await Tool.interrupt($0, onceThereIs: scratch.cache + "/data.mdb")
    }
    let summary: Summary = try result.json()
    #expect(result.status == 130 && summary.isInterrupted && summary.requests < count)
    #expect(summary.memoryHits + summary.diskHits + summary.misses == summary.requests)
    try await scratch.expect("$ ls")
  }

  /// The progress line appears after a second.
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
}
