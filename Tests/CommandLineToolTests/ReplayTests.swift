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

  private func summary(_ arguments: String..., input: Data = Data()) async throws -> ReplaySummary {
    let result = try await Tool.run(["replay"] + arguments + ["--json"], input: input)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors == "", "no progress bar where there is no terminal")
    return try result.json()
  }

  @Test(arguments: [1, 2, 5])
  func theCountsAddUp(threads: Int) async throws {
    let requests = trace(20_000, keys: 2_000)
    let file = try scratch.file("trace", bytes(requests))
    let summary = try await summary(
      file, "--format", "u32be", "--memory-count", "200", "--threads", "\(threads)", "--cache", scratch.cache)
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
    let input = bytes(trace(5_000, keys: 500))
    let arguments = ["-", "--format", "u32be", "--cache", scratch.cache]
    func replay() async throws -> ReplaySummary {
      try await Tool.run(["replay", "--json"] + arguments, input: input).json()
    }
    let cold = try await replay()
    #expect(cold.misses > 0)
    let warm = try await replay()
    #expect(warm.misses == 0 && warm.wrongValues == 0 && warm.requests == 5_000)
    #expect(warm.diskHits == cold.misses)
  }

  @Test func withoutACacheNothingIsLeft() async throws {
    let input = bytes(trace(1_000, keys: 100))
    let result = try await Tool.run(
      "replay", "-", "--format", "u32be", input: input, environment: ["TMPDIR": scratch.url.path])
    #expect(result.status == 0)
    #expect(try scratch.names.isEmpty)
    for row in ["requests", "memory hits", "disk hits", "misses", "hit ratio", "wrong values", "p99.9"] {
      #expect(result.text.contains(row))
    }
    #expect(result.text.contains("1,000"))
    #expect(!result.output.contains(0x1B))
  }

  @Test func linesOfTextAreKeys() async throws {
    let lines = ["a", "b", "a", "", "e\u{301}", "\u{E9}", "a key with spaces", "a", ""]
    let input = Data(lines.map { $0 + "\n" }.joined().utf8)
    let summary = try await summary("-", "--format", "text", "--cache", scratch.cache, input: input)
    #expect(summary.requests == 9 && summary.misses == 6 && summary.memoryHits == 3)
    let keys = try await Tool.run("ls", "-q", "--cache", scratch.cache).text
    #expect(Array(keys.utf8) == Array("a\na key with spaces\nb\ne\u{301}\n\u{E9}\n\n".utf8))
  }

  @Test(arguments: [0, 1, 7, 8, 100, 5_000])
  func valuesHaveTheSizeAskedFor(_ count: Int) async throws {
    let summary = try await summary(
      "-", "--format", "text", "--value-bytes", "\(count)", "--cache", scratch.cache, input: Data("a\nb\na\n".utf8))
    #expect(summary.wrongValues == 0)
    let first = try await Tool.run("get", "a", "--cache", scratch.cache).output
    let second = try await Tool.run("get", "b", "--cache", scratch.cache).output
    #expect(first.count == count && second.count == count)
    if count >= 7 { #expect(first != second) }
  }

  @Test func aWrongValueIs65() async throws {
    let trace = try scratch.file("trace", Data("a\nb\n".utf8))
    _ = try await summary(trace, "--format", "text", "--cache", scratch.cache)
    _ = try await Tool.run("set", "b", "x", "--format", "bytes", "--cache", scratch.cache)
    let result = try await Tool.run("replay", trace, "--format", "text", "--json", "--cache", scratch.cache)
    #expect(result.status == 65)
    #expect(try result.json(as: ReplaySummary.self).wrongValues == 1)
    #expect(result.errors.contains("1 wrong"))
  }

  @Test func aValueOfAnotherTypeIs65() async throws {
    _ = try await Tool.run("set", "b", "text", "--cache", scratch.cache)
    let result = try await Tool.run(
      "replay", "-", "--format", "text", "--cache", scratch.cache, input: Data("a\nb\n".utf8))
    #expect(result.status == 65)
    #expect(result.errors.contains("string"))
  }

  @Test(arguments: [1, 2, 3, 4001])
  func aTruncatedTraceIs65(_ count: Int) async throws {
    let file = try scratch.file("trace", Data(count: count))
    let result = try await Tool.run("replay", file, "--format", "u32be", "--cache", scratch.cache)
    #expect(result.status == 65)
    #expect(result.errors.contains("truncated") && result.errors.contains(file))
    #expect(result.output.isEmpty)
    #expect(try scratch.names == ["trace"], "nothing is created")
  }

  @Test func anEmptyTraceIs65() async throws {
    #expect(try await Tool.run("replay", "-", "--format", "u32be").status == 65)
    #expect(try await Tool.run("replay", "-", "--format", "text").status == 65)
    let invalid = try await Tool.run("replay", "-", "--format", "text", input: Data([97, 10, 0xFF, 10]))
    #expect(invalid.status == 65 && invalid.errors.contains("line 2"))
  }

  @Test func aPackedTraceIsUnpacked() async throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = root.appendingPathComponent("Benchmarks/Traces/web12.trace.xz")
    let summary = try await summary(file.path, "--format", "u32be")
    #expect(summary.requests == 95_607 && summary.misses == 13_756 && summary.wrongValues == 0)
    let cut = try scratch.file("cut.xz", try Data(contentsOf: file).prefix(1_000))
    let damaged = try await Tool.run("replay", cut, "--format", "u32be")
    #expect(damaged.status == 65)
    #expect(damaged.errors.contains("damaged"))
  }

  @Test func theDiskTierCanBeLimited() async throws {
    let input = bytes((0..<5_000).map { UInt32($0) })
    let summary = try await summary("-", "--format", "u32be", "--disk-count", "500", input: input)
    #expect(summary.misses == 5_000 && summary.diskEvictions >= 4_500)
  }

  @Test func anInterruptEndsTheReplayWithTheTableSoFar() async throws {
    // Only misses, and enough of them to still be running when the signal comes.
    let count = 600_000
    let input = bytes((0..<UInt32(count)).map { $0 })
    let started = scratch.cache + "/data.mdb"
    let result = try await Tool.run(
      "replay", "-", "--format", "u32be", "--json", "--cache", scratch.cache, input: input
    ) { process in
      // The tool installs its handler before it creates the cache. A separate thread avoids waiting for the task pool.
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          while !FileManager.default.fileExists(atPath: started) { sched_yield() }
          kill(process, SIGINT)
          continuation.resume()
        }
      }
    }
    #expect(result.status == 130)
    let summary: ReplaySummary = try result.json()
    #expect(summary.isInterrupted && summary.requests < count)
    #expect(summary.memoryHits + summary.diskHits + summary.misses == summary.requests)
    #expect(try await Tool.run("ls", "--cache", scratch.cache).status == 0)
  }
}
