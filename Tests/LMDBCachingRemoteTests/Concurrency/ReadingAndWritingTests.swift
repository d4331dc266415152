import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import Testing

@Suite struct ReadingAndWritingTests {
  let server: RedisServer

  init() throws { server = try RedisServer() }

  @Test func whatOneMachineWritesAnotherReads() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try first.cache.set("one", forKey: "k")
    #expect(try second.cache.value(String.self, forKey: "k") == "one")
    #expect(try second.cache.local.value(String.self, forKey: "k") == "one")
    #expect(try second.cache.value(String.self, forKey: "other") == nil)
    #expect(try second.cache.value(Int.self, forKey: "other") == nil)
  }

  @Test func changesReachMachinesThatHaveTheValue() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try second.settle()
    for round in 0..<200 {
      try first.cache.set(round, forKey: "k")
      try waitUntil { try second.cache.value(Int.self, forKey: "k") == round }
      // A change does not invalidate its own write.
      #expect(try first.cache.local.value(Int.self, forKey: "k") == round)
    }
    try first.cache.removeValue(forKey: "k")
    #expect(try first.cache.value(Int.self, forKey: "k") == nil)
    try waitUntil { try second.cache.value(Int.self, forKey: "k") == nil }
  }

  @Test func theTimeToLiveGoesAlong() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try first.cache.set("long", forKey: "k", expiresIn: .seconds(3_600))
    #expect(try second.cache.value(String.self, forKey: "k") == "long")
    let expiration = try #require(try second.cache.local.entry(forKey: "k")?.expiration)
    #expect(expiration == (try first.cache.local.entry(forKey: "k")?.expiration))
    try first.cache.set("short", forKey: "k", expiresIn: .milliseconds(700))
    try waitUntil { try second.cache.value(String.self, forKey: "k") == nil }
    try waitUntil { try first.cache.value(String.self, forKey: "k") == nil }
    try waitUntil { try server.run("EXISTS", "{lmdb-cache}:1:e:k") == .integer(0) }
    try first.cache.set("dead", forKey: "k", expiresIn: .zero)
    #expect(try first.cache.value(String.self, forKey: "k") == nil)
    #expect(try second.cache.value(String.self, forKey: "k") == nil)
  }

  /// Expiries follow the local cache's clock, which need not be the system's.
  @Test(arguments: [false, true]) func livesAreMeasuredByTheClockOfTheCache(_ isBehind: Bool) throws {
    var local = CacheConfiguration()
    local.clock = .manual(ManualClock())
    let machine = try Machine(server, local: local) { if isBehind { $0.writes = .behind(limit: 1 << 20) } }
    try machine.cache.set("value", forKey: "set", expiresIn: .seconds(36_000))
    #expect(try machine.cache.value(String.self, forKey: "set") == "value")
    try machine.cache.flush(timeLimit: .seconds(300))
    let options = LoadOptions(lifetime: .seconds(36_000))
    #expect(try machine.cache.value(String.self, forKey: "loaded", options: options) { _ in "value" } == "value")
    try machine.cache.local.removeAll()
    for key in ["set", "loaded"] {
      guard case .integer(let life) = try server.run("PTTL", "{lmdb-cache}:1:e:\(key)") else { throw NotInTime() }
      #expect((1...36_000_001).contains(life))
      #expect(try machine.cache.value(String.self, forKey: key) == "value")
    }
  }

  @Test(arguments: [0, 1, 100, 40_000, 3_000_000])
  func valuesOfAnySizeComeBack(_ size: Int) async throws {
    let (first, second) = (try Machine(server), try Machine(server))
    let value = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try await first.cache.set(value, forKey: "k")
    #expect(try await second.cache.value(Data.self, forKey: "k") == value)
    try await second.cache.local.removeAll()
    #expect(try readWaiting(second) == value)
  }

  private func readWaiting(_ machine: Machine) throws -> Data? { try machine.cache.value(Data.self, forKey: "k") }

  @Test(arguments: ["", "é", "e\u{301}", "a\nb\0c", String(repeating: "k", count: 3_000), "*?[x]\\"])
  func anyKeyIsAKey(_ key: String) throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try first.cache.set("v", forKey: key)
    try first.cache.set("other", forKey: key + "x")
    #expect(try second.cache.value(String.self, forKey: key) == "v")
    try first.cache.removeAll(withPrefix: key)
    #expect(try first.cache.value(String.self, forKey: key) == nil)
    try waitUntil { try second.cache.value(String.self, forKey: key) == nil }
  }

  @Test func keysThatDifferInNormalizationAreTwo() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try first.cache.set("composed", forKey: "\u{E9}")
    try first.cache.set("decomposed", forKey: "e\u{301}")
    #expect(try second.cache.value(String.self, forKey: "\u{E9}") == "composed")
    #expect(try second.cache.value(String.self, forKey: "e\u{301}") == "decomposed")
  }

  @Test func manyAreOneRequest() async throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try await first.cache.set((0..<300).map { ("k\($0)", $0) }, expiresIn: .seconds(3_600))
    #expect(first.cache.statistics.requests == 1)
    for number in 0..<300 { try #require(try await second.cache.value(Int.self, forKey: "k\(number)") == number) }
    // No value was missing for lack of a reply.
    #expect(first.cache.statistics.failures == 0 && second.cache.statistics.failures == 0)
    try await first.cache.removeValues(forKeys: (0..<300).map { "k\($0)" })
    try await wait { try (0..<300).allSatisfy { try second.cache.value(Int.self, forKey: "k\($0)") == nil } }
  }

  /// The last of several writes to a key in one request wins.
  @Test(arguments: [nil, .seconds(3_600)] as [Duration?])
  func aKeyMayBeGivenTwice(_ lifetime: Duration?) async throws {
    let (first, second) = (try Machine(server), try Machine(server))
    let writes: [(key: String, value: Int)] = [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 4)]
    try await first.cache.set(writes, expiresIn: lifetime)
    for cache in [first.cache, second.cache] {
      #expect(try await cache.value(Int.self, forKey: "a") == 3)
      #expect(try await cache.value(Int.self, forKey: "b") == 4)
    }
    #expect(first.cache.statistics.requests == 1)
  }

  @Test(arguments: [nil, "a/"]) func removalOfAllReachesAll(_ prefix: String?) async throws {
    let (first, second) = (try Machine(server), try Machine(server))
    for key in ["a/1", "a/2", "b/1"] { try await first.cache.set(key, forKey: key) }
    for key in ["a/1", "a/2", "b/1"] { try #require(try await second.cache.value(String.self, forKey: key) == key) }
    try second.settle()
    if let prefix { try await first.cache.removeAll(withPrefix: prefix) } else { try await first.cache.removeAll() }
    for machine in [first, second] {
      try await wait { try machine.cache.value(String.self, forKey: "a/1") == nil }
      #expect(try await machine.cache.value(String.self, forKey: "a/2") == nil)
      #expect(try await machine.cache.value(String.self, forKey: "b/1") == (prefix == nil ? nil : "b/1"))
    }
  }

  @Test func whatIsWrittenDuringARemovalStays() async throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try await first.cache.set((0..<5_000).map { ("k\($0)", 0) })
    let removal = Task { try await first.cache.removeAll(withPrefix: "k") }
    var written: [Int] = []
    for number in 0..<200 {
      try await second.cache.set(1, forKey: "k\(number)")
      written.append(number)
    }
    try await removal.value
    // A write before the removal is gone, and one after it is there.
    let third = try Machine(server)
    var found: [Int?] = []
    for number in written { found.append(try await third.cache.value(Int.self, forKey: "k\(number)")) }
    #expect(found.allSatisfy { $0 != 0 })
    #expect(found.firstIndex(of: 1).map { index in found[index...].allSatisfy { $0 == 1 } } ?? true)
    #expect(try await third.cache.value(Int.self, forKey: "k4999") == nil)
  }

  @Test func fleetsWithOtherPrefixesAreApart() throws {
    let first = try Machine(server) { $0.prefix = "one" }
    let second = try Machine(server) { $0.prefix = "two" }
    try first.cache.set("one", forKey: "k")
    #expect(try second.cache.value(String.self, forKey: "k") == nil)
    try second.cache.removeAll()
    #expect(try first.cache.value(String.self, forKey: "k") == "one")
  }

  @Test func foreignValuesCountAsAbsent() throws {
    let machine = try Machine(server)
    for bytes in ["", "nonsense", "1-1\n", "1-1\nshort", "99999999999999999999-0\nx"] {
      try server.run("SET", "{lmdb-cache}:1:e:k", bytes)
      #expect(try machine.cache.value(String.self, forKey: "k") == nil)
      #expect(try machine.cache.value(String.self, forKey: "k") { _ in "loaded" } == "loaded")
      #expect(try machine.cache.local.value(String.self, forKey: "k") == "loaded")
      try machine.cache.local.removeAll()
    }
    try server.run("DEL", "{lmdb-cache}:1:e:k")
    try server.run("LPUSH", "{lmdb-cache}:1:e:k", "a list")
    #expect(try machine.cache.value(String.self, forKey: "k") == nil)
    #expect(machine.cache.statistics.unreadable > 0)
  }

  @Test func aRecordOfAnotherKeyIsNone() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try first.cache.set("secret", forKey: "a")
    try server.run("COPY", "{lmdb-cache}:1:e:a", "{lmdb-cache}:1:e:b")
    #expect(try second.cache.value(String.self, forKey: "b") == nil)
    #expect(try second.cache.value(String.self, forKey: "a") == "secret")
  }

  @Test func objectsTravel() async throws {
    let (first, second) = (try Machine(server), try Machine(server))
    let object: NSArray = ["text", 7, ["inner": NSNull()]]
    try await first.cache.setObject(object, forKey: "k")
    #expect(try await second.cache.object(forKey: "k") as? NSArray == object)
    let local = second.cache.local
    #expect(try local.object(forKey: "k") as? NSArray == object)
    func remove() throws { try first.cache.setObject(nil, forKey: "k") }
    try remove()
    func value() throws -> NSArray? { try second.cache.object(forKey: "k") as? NSArray }
    try await wait { try value() == nil }
    // A plain value reads as an object too, as in the local cache.
    try await first.cache.set("text", forKey: "k")
    #expect(try await second.cache.object(forKey: "k") as? NSString == "text")
  }

  @Test func optionalValuesAreWhatTheyWere() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try first.cache.set(Int?.some(7), forKey: "some")
    try first.cache.set(Int?.none, forKey: "none")
    #expect(try second.cache.value(Int?.self, forKey: "some") == .some(.some(7)))
    #expect(try second.cache.value(Int?.self, forKey: "none") == .some(.none))
    #expect(try second.cache.value(Int?.self, forKey: "nothing") == .none)
    #expect(try second.cache.value(Int?.self, forKey: "loaded") { _ in .some(1) } == 1)
  }
}
