import Foundation
import LMDBCaching
import TestSupport
import Testing

/// `ls`, `stat`, `trim` and `clear`, and how a cache is named.
@Suite struct CommandTests {
  let scratch = try! Scratch()

  private func keys(_ words: String...) async throws -> [String] {
    try await Tool.run(["ls", "-q", "--cache", scratch.cache] + words).text.split(separator: "\n").map(String.init)
  }

  @Test func aListIsATableOrKeysOrObjects() async throws {
    try scratch.fill(12, cost: 10)
    try await scratch.expect(
      """
      $ ls
      # 13
      | KEY SIZE FORMAT COST EXPIRES CREATED
      | key:1000 10 string 10 never
      $ ls -q --prefix key:101
      > key:1010
      > key:1011
      $ ls --prefix other
      =
      $ ls -q --limit 2
      > key:1000
      > key:1001
      $ ls --json --prefix other
      > []
      $64 ls --limit 0
      """)
  }

  #if os(Linux)
    /// The files hold 28 MB, and the tool waits for its reader with most of them read. The list exceeds one read batch.
    @Test(.disabled(if: Sanitizer.address.isActive || Sanitizer.thread.isActive, "a sanitizer takes additional memory"))
    func aLongListTakesLittleMemoryAndBeginsAtOnce() async throws {
      let count = 100_000
      try scratch.fill { cache in
        for start in stride(from: 0, to: count, by: 1_000) {
          try cache.write { batch in
            for number in start..<start + 1_000 { batch.set(Data(count: 100), forKey: "key:\(1_000_000 + number)") }
          }
        }
      }
      let process = try ChildProcess(Tool.executable, ["ls", "-q", "--cache", scratch.cache])
      #expect(process.readLine() == "key:1000000")
      #expect((1..<90_000).allSatisfy { process.readLine() == "key:\(1_000_000 + $0)" })
      let status = try String(contentsOfFile: "/proc/\(process.identifier)/status", encoding: .utf8)
      let peak = try #require(status.firstMatch(of: /VmHWM:\s*(\d+) kB/).flatMap { Int($0.1) })
      #expect(peak < 50 << 10)
      #expect(process.readRemaining().count == 10_000)
      let rows = try await scratch.run("ls").text.split(separator: "\n")
      #expect(rows.count == count + 1 && rows.count { $0.hasPrefix("KEY") } == 1)
      for limit in [1_000, 1_001] {
        let entries: [ListedEntry] = try await scratch.run("ls", "--json", "--limit", "\(limit)").json()
        #expect(entries.map(\.key) == (0..<limit).map { "key:\(1_000_000 + $0)" })
      }
    }
  #endif

  @Test func statShowsTheOldestSnapshot() async throws {
    let cache = try scratch.open()
    try cache.set("value", forKey: "key")
    try await cache.flush()
    let reader = try ChildProcess("CacheTestProcess")
    #expect(reader.run("open \(scratch.cache)") == "ok" && reader.run("snapshot key") == "held")
    for number in 0..<3 {
      try cache.set(number, forKey: "later")
      try await cache.flush()
    }
    try await scratch.expect(
      """
      $ stat --json
      { process=\(reader.identifier) transactionsBehind=3 isSuspended=false
      $ stat
      ~ of process \(reader.identifier), 3 transactions behind
      """)
    try await cache.close()
  }

  @Test func statAddsUpEntriesByPrefixFormatSizeAndAge() async throws {
    // Key identity is the bytes, so the last two are separate prefixes.
    let twins = ["\u{E9}:", "e\u{301}:"]
    try scratch.fill { cache in
      for number in 0..<60 {
        try cache.set("text", forKey: "user:\(number % 6):name\(number)", cost: 2)
        try cache.set(Data(count: 5_000), forKey: "image/\(number)")
      }
      for prefix in [""] + twins { try cache.set(1, forKey: prefix + "plain") }
    }
    try await scratch.expect(
      """
      $ stat --prefixes --json
      { entries=123 bytes=300264 prefix="image/" bytes=300000 prefix="user:" cost=120 prefix="" entries=60 entries=1
      { format="bytes" format="string" format="signedinteger" upTo=16384
      ^ otherPrefixes
      $ stat --prefixes --json --depth 2 --top 3
      { prefix="image/" prefix="user:0:" prefix="user:1:" prefixes=7 entries=43
      ^ user:2:
      $ stat --prefixes --depth 2 --top 3
      ~ PREFIX
      ~ image/
      ~ (7 others)
      $ stat --prefixes
      ~ FORMAT
      ~ SIZE
      ~ WRITTEN
      ~ LAST READ
      ~ (no separator)
      ~ 60  300,000
      """)
    let output = try await scratch.run("stat", "--prefixes", "--json").output
    for prefix in twins { #expect(output.range(of: Data("\"\(prefix)\"".utf8)) != nil) }
  }

  @Test(arguments: Durability.allCases)
  func aCacheIsOpenedWithTheDurabilityItHas(_ durability: Durability) async throws {
    try await scratch.expect(
      """
      $ set a b --durability \(durability)
      $ set c d
      $ get a
      = b
      $ stat --json
      { durability="\(durability)" entries=2
      $64 set a b --durability \(Durability.allCases.first { $0 != durability }!)
      """)
  }

  @Test func statCountsTrimEnforcesALimitAndClearRemovesEverything() async throws {
    try scratch.fill(100, cost: 10)
    try await scratch.expect(
      """
      $ stat --json
      { entries=100 totalCost=1000 deadBytes=0 durability="ordered" health="healthy"
      ^ transactionsBehind
      $ stat
      ~ total cost
      ~ 1,000
      | live
      | dead
      | free
      $ trim --count 40
      """)
    #expect(try await keys().count <= 40)
    try await scratch.expect("$ trim --cost 100")
    let kept = try await keys().count
    #expect((1...10).contains(kept))
    try await scratch.expect(
      """
      $ trim --age 3600
      $ trim --creation-age 3600
      $64 trim --creation-age -1
      $ ls -q
      # \(kept)
      """)
    // Only the cache's own processes enforce its limits.
    try scratch.fill { cache in
      cache.disk.costLimit = .max
      for number in 0..<8 { try cache.set(number, forKey: "\(number)", cost: 1 << 30) }
    }
    try await scratch.expect("$ set a value\n$ set b value\n$ ls -q\n# \(kept + 10)")
    // An imported file counts as created when it was last changed.
    let file = try scratch.file("files/old", Data())
    try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -7_200)], ofItemAtPath: file)
    try await scratch.expect(
      """
      $ import @files --from files
      $ get old
      $ trim --creation-age 3600
      $1 get old
      $ clear
      $ ls -q
      =
      """)
  }

  #if os(Linux)
    @Test func aNameIsTheCacheOfAnyProgram() async throws {
      // A cache that the tool creates is in its own directory. Two programs may use the same cache name.
      try await scratch.expect(
        """
        $$ set a own --cache own
        $$ get a --cache @.cache/lmdb-cache/own
        = own
        $$ set a there --cache @.local/share/app/named
        $$ get a --cache named
        = there
        $$ set a b --cache @.cache/other/named
        $$64 get a --cache named
        ! \(scratch.path(".cache/other/named"))
        """, environment: ["HOME": scratch.url.path, "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""])
    }
  #endif

  // MARK: - Verifying

  @Test func aCacheIsVerifiedWhileItIsOpenAndWithADamagedValue() async throws {
    try scratch.fill(500)
    let size = try Data(contentsOf: URL(fileURLWithPath: scratch.cache + "/data.mdb")).count
    try await scratch.expect("$$ verify @\n~ sound\n$$ verify --json @\n{ bytes=\(size)")
    let cache = try scratch.open()
    try await cache.write(waitsForCommit: true) { $0.set("here", forKey: "another") }
    try await scratch.expect(
      """
      $$ verify --values --json @
      { isWhole=true entries=501 damagedEntries=0 transactionsMeanwhile=0
      $ get another
      = here
      $ set another there
      """)
    #expect(try cache.value(String.self, forKey: "another") == "there")
    try await cache.close()
    // The structure and the sum over the entries stay sound: only the value's checksum reveals the damage.
    let data = URL(fileURLWithPath: scratch.cache + "/data.mdb")
    var bytes = try Data(contentsOf: data)
    // Change every copy, since free pages may have it too.
    while let place = bytes.range(of: Data("value 1077".utf8)) { bytes[place.lowerBound] ^= 1 }
    try bytes.write(to: data)
    try await scratch.expect(
      """
      $ verify
      $$4 verify --values @
      ~ damaged entries
      ~ checksum
      $$4 verify --values --json @
      { isWhole=true entries=501 damagedEntries=1 code="corruptedRecord"
      ~ key:1077
      $4 get key:1077
      """)
  }

  /// The last numbered section of the changelog is the released or the coming version.
  @Test func theToolPrintsTheVersionOfTheChangelog() async throws {
    let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../CHANGELOG.md").standardizedFileURL
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    let latest = try #require(lines.first { $0.hasPrefix("## [") && !$0.hasPrefix("## [Unreleased]") })
    try await scratch.expect("$$ --version\n> \(latest.dropFirst(4).prefix { $0 != "]" })")
  }
}
