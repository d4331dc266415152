import Foundation
import LMDBCaching
import Testing

@Suite struct ReplayTests {
  let scratch = try! Scratch()

  /// A deterministic trace that favors small numbers.
  private func trace(_ requests: Int, keys: UInt64) -> [UInt32] {
    var state: UInt64 = 1
    return (0..<requests).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let first = (state >> 33) % keys
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt32(first * ((state >> 33) % keys) / keys)
    }
  }

  private func bytes(_ requests: [UInt32]) -> Data {
    Data(requests.flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } })
  }

  @Test(arguments: [1, 2, 5])
  func theCountsAddUp(threads: Int) async throws {
    let requests = trace(20_000, keys: 2_000)
    let file = try scratch.file("trace", bytes(requests))
    let result = try await Tool.run(
      "replay", file, "--format", "u32be", "--memory-count", "200", "--threads", "\(threads)", "--json", "--cache",
      scratch.cache)
    #expect(result.status == 0 && result.errors == "", "a progress bar without a terminal")
    let summary: ReplaySummary = try result.json()
    #expect(summary.requests == requests.count)
    #expect(summary.memoryHits + summary.diskHits + summary.misses == requests.count)
    #expect(summary.wrongValues == 0 && !summary.isInterrupted)
    // Several threads may miss a key before one of them stores it.
    let keys = Swift.Set(requests).count
    #expect(threads == 1 ? summary.misses == keys : summary.misses >= keys)
    #expect(summary.memoryHits > 0 && summary.diskHits > 0 && summary.memoryEvictions > 0)
    #expect(summary.evictions == summary.memoryEvictions + summary.diskEvictions)
    #expect(abs(summary.hitRatio - 1 + Double(summary.misses) / Double(requests.count)) < 1e-9)
    #expect(summary.seconds > 0 && summary.requestsPerSecond > 0 && summary.bytesOnDisk > 0)
    #expect(0 < summary.p50Nanoseconds && summary.p50Nanoseconds <= summary.p99Nanoseconds)
    #expect(summary.p99Nanoseconds <= summary.p999Nanoseconds)
    #expect(summary.missTimes?.requests == summary.misses)
    #expect(summary.hitTimes?.requests == summary.memoryHits + summary.diskHits)
    #expect(summary.memoryHitTimes?.requests == (threads == 1 ? summary.memoryHits : nil))
    #expect(summary.diskHitTimes?.requests == (threads == 1 ? summary.diskHits : nil))
  }

  @Test func theSecondReplayStartsWarm() async throws {
    _ = try scratch.file("trace", bytes(trace(5_000, keys: 500)))
    let words = [scratch.path("trace"), "--format", "u32be", "--cache", scratch.cache]
    let cold: ReplaySummary = try await Tool.run(["replay", "--json"] + words).json()
    #expect(cold.misses > 0)
    try await scratch.expect(
      """
      $ replay @trace --format u32be --json
      !
      { requests=5000 misses=0 wrongValues=0 diskHits=\(cold.misses)
      """)
  }

  @Test func withoutACacheNothingIsLeft() async throws {
    let place = try Scratch()
    _ = try place.file("trace", bytes(trace(1_000, keys: 100)))
    try await place.expect(
      """
      $$ replay @trace --format u32be
      ~ requests
      ~ memory hits
      ~ disk hits
      ~ hit ratio
      ~ wrong values
      ~ p99.9
      ~ 1,000
      ^ \u{1B}
      """, environment: ["TMPDIR": scratch.url.path])
    #expect(try scratch.names.isEmpty)
  }

  @Test func linesOfTextAreKeys() async throws {
    let lines = ["a", "b", "a", "", "e\u{301}", "\u{E9}", "a key with spaces", "a", ""]
    _ = try scratch.file("trace", Data(lines.map { $0 + "\n" }.joined().utf8))
    try await scratch.expect("$ replay @trace --format text --json\n{ requests=9 misses=6 memoryHits=3")
    let keys = try await Tool.run("ls", "-q", "--cache", scratch.cache).output
    #expect(keys == Data("a\na key with spaces\nb\ne\u{301}\n\u{E9}\n\n".utf8))
  }

  @Test(arguments: [0, 1, 7, 8, 100, 5_000])
  func valuesHaveTheSizeAskedFor(_ count: Int) async throws {
    _ = try scratch.file("trace", Data("a\nb\na\n".utf8))
    try await scratch.expect("$ replay @trace --format text --value-bytes \(count) --json\n{ wrongValues=0")
    let first = try await Tool.run("get", "a", "--cache", scratch.cache).output
    let second = try await Tool.run("get", "b", "--cache", scratch.cache).output
    #expect(first.count == count && second.count == count)
    if count >= 7 { #expect(first != second) }
    guard count == 100 else { return }
    // A wrong value, and a value of another type.
    try await scratch.expect(
      """
      $ set b x --format bytes
      $65 replay @trace --format text --value-bytes \(count) --json
      { wrongValues=1
      ! 1 wrong
      $ set b text
      $65 replay @trace --format text
      ! string
      ^ \u{1B}
      """)
  }

  @Test func aDamagedTraceIs65AndMakesNoCache() async throws {
    for count in [1, 2, 3, 4001] {
      let file = try scratch.file("trace", Data(count: count))
      try await scratch.expect("$65 replay @trace --format u32be\n! truncated\n! \(file)\n/ trace")
    }
    _ = try scratch.file("trace", Data([97, 10, 0xFF, 10]))
    try await scratch.expect(
      """
      $$65 replay - --format u32be
      $$65 replay - --format text
      $$65 replay @trace --format text
      ! line 2
      """)
  }

  @Test func aPackedTraceIsUnpacked() async throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = root.appendingPathComponent("Benchmarks/Traces/web12.trace.xz")
    _ = try scratch.file("cut.xz", try Data(contentsOf: file).prefix(1_000))
    try await scratch.expect(
      """
      $$ replay \(file.path) --format u32be --json
      { requests=95607 misses=13756 wrongValues=0
      $$65 replay @cut.xz --format u32be
      ! damaged
      """)
  }

  @Test func theDiskTierCanBeLimited() async throws {
    _ = try scratch.file("trace", bytes((0..<5_000).map { UInt32($0) }))
    let result = try await Tool.run(
      "replay", scratch.path("trace"), "--format", "u32be", "--disk-count", "500", "--json")
    let summary: ReplaySummary = try result.json()
    #expect(summary.misses == 5_000 && summary.diskEvictions >= 4_500)
  }

  @Test func anInterruptEndsTheReplayWithTheTableSoFar() async throws {
    // Only misses, and enough of them to still be running when the signal comes.
    let count = 600_000
    let result = try await Tool.run(
      "replay", "-", "--format", "u32be", "--json", "--cache", scratch.cache,
      input: bytes((0..<UInt32(count)).map { $0 })
    ) { process in
      // The tool installs its handler before it creates the cache.
      await interrupt(process, onceThereIs: scratch.cache + "/data.mdb")
    }
    #expect(result.status == 130)
    let summary: ReplaySummary = try result.json()
    #expect(summary.isInterrupted && summary.requests < count)
    #expect(summary.memoryHits + summary.diskHits + summary.misses == summary.requests)
    try await scratch.expect("$ ls")
  }
}
