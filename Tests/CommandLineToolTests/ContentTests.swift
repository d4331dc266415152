import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct ContentTests {
  let scratch = try! Scratch()

  private struct Summary: Decodable {
    struct Contents: Decodable {
      struct Prefix: Decodable { let prefix: String, entries, bytes, cost: Int }
      struct Others: Decodable { let prefixes, entries, bytes: Int }
      struct Format: Decodable { let format: String, entries, bytes: Int }
      struct Bucket: Decodable { let upTo: Int?, entries, bytes: Int }

      let entries, bytes: Int
      let prefixes: [Prefix]
      let otherPrefixes: Others?
      let formats: [Format]
      let sizes, ages, idleTimes: [Bucket]
    }

    let entries: Int
    let contents: Contents?
  }

  private func fill() throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    for number in 0..<60 {
      try cache.set("text", forKey: "user:\(number % 6):name\(number)", cost: 2)
      try cache.set(Data(count: 5_000), forKey: "image/\(number)")
    }
    try cache.set(1, forKey: "plain")
    try cache.close()
  }

  @Test func entriesAreAddedUp() async throws {
    try fill()
    let plain: Summary = try await Tool.run("stat", "--json", "--cache", scratch.cache).json()
    #expect(plain.contents == nil && plain.entries == 121)
    let summary: Summary = try await Tool.run("stat", "--prefixes", "--json", "--cache", scratch.cache).json()
    let contents = try #require(summary.contents)
    #expect(contents.entries == 121 && contents.bytes == 60 * 5_004 + 8 && contents.otherPrefixes == nil)
    #expect(contents.prefixes.map(\.prefix) == ["image/", "user:", ""])
    #expect(contents.prefixes.map(\.entries) == [60, 60, 1] && contents.prefixes[1].cost == 120)
    #expect(contents.formats.map(\.format) == ["bytes", "string", "signed integer"])
    #expect(contents.sizes.reduce(0) { $0 + $1.entries } == 121)
    #expect(contents.sizes.first { $0.upTo == 16 << 10 }?.entries == 60)
    #expect(contents.ages.count == contents.idleTimes.count && contents.ages.last?.upTo == nil)
    let table = try await Tool.run("stat", "--prefixes", "--cache", scratch.cache).text
    for text in ["PREFIX", "image/", "(no separator)", "FORMAT", "SIZE", "WRITTEN", "LAST READ", "60  300,000"] {
      #expect(table.contains(text), "\(text)")
    }
  }

  @Test func ofDeeperBeginningsTheLargestAreTold() async throws {
    try fill()
    let summary: Summary = try await Tool.run(
      "stat", "--prefixes", "--depth", "2", "--top", "3", "--json", "--cache", scratch.cache
    ).json()
    let contents = try #require(summary.contents)
    #expect(contents.prefixes.map(\.prefix) == ["image/", "user:0:", "user:1:"])
    #expect(contents.otherPrefixes?.prefixes == 5 && contents.otherPrefixes?.entries == 41)
    let table = try await Tool.run("stat", "--prefixes", "--depth", "2", "--top", "3", "--cache", scratch.cache).text
    #expect(table.contains("(5 others)"))
  }

  /// Key identity is the bytes, so these are two prefixes.
  @Test func canonicallyEquivalentPrefixesStayApart() async throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
    for prefix in ["\u{E9}:", "e\u{301}:"] { try cache.set(1, forKey: prefix + "key") }
    try await cache.close()
    let summary: Summary = try await Tool.run("stat", "--prefixes", "--json", "--cache", scratch.cache).json()
    #expect(
      summary.contents?.prefixes.map { Array($0.prefix.utf8) } == [Array("e\u{301}:".utf8), Array("\u{E9}:".utf8)])
  }

  #if os(Linux)
    /// The peak memory of a process, in bytes.
    private func peak(of process: ChildProcess) throws -> Int {
      let status = try String(contentsOfFile: "/proc/\(process.identifier)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
      return try #require(Int(line.split(separator: " ").dropLast().last ?? "").map { $0 << 10 })
    }

    /// The files hold 28 MB, most of it read by the time memory is measured: the tool waits for its reader.
    @Test(.disabled(if: Sanitizer.address.isActive || Sanitizer.thread.isActive, "a sanitizer takes memory of its own"))
    func aLongListTakesLittleMemoryAndBeginsAtOnce() async throws {
      let count = 100_000
      let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: .withoutMemory)
      for start in stride(from: 0, to: count, by: 1_000) {
        try await cache.write { batch in
          for number in start..<start + 1_000 { batch.set(Data(count: 100), forKey: "key:\(1_000_000 + number)") }
        }
      }
      try await cache.close()
      let process = try Tool.start("ls", "-q", "--cache", scratch.cache)
      #expect(process.readLine() == "key:1000000")
      // Later lines cannot be in the pipe, nor in the part that was read before.
      #expect(try peak(of: process) < 50 << 20)
      for number in 1..<90_000 where process.readLine() != "key:\(1_000_000 + number)" {
        Issue.record("line \(number)")
        break
      }
      #expect(try peak(of: process) < 50 << 20)
      #expect(process.readRemaining().count == 10_000)
    }
  #endif
}
