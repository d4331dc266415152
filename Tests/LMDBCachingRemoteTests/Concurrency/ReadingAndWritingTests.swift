import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import Testing

@Suite struct ReadingAndWritingTests {
  let server: RedisServer

  init() throws { server = try RedisServer() }

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

  @Test(arguments: [0, 100, 3_000_000])
  func valuesOfAnySizeComeBack(_ size: Int) async throws {
    let (first, second) = (try Machine(server), try Machine(server))
    let value = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try await first.cache.set(value, forKey: "k")
    #expect(try await second.cache.value(Data.self, forKey: "k") == value)
    try await second.cache.local.removeAll()
    #expect(try readWaiting(second) == value)
  }

  private func readWaiting(_ machine: Machine) throws -> Data? { try machine.cache.value(Data.self, forKey: "k") }

  @Test func anyKeyIsAKey() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    let keys = ["", "\u{E9}", "e\u{301}", "a\nb\0c", String(repeating: "k", count: 3_000), "*?[x]\\"]
    for (number, key) in keys.enumerated() { try first.cache.set(number, forKey: key) }
    for (number, key) in keys.enumerated() { #expect(try second.cache.value(Int.self, forKey: key) == number) }
    // A prefix is matched byte by byte, and has no wildcards.
    for key in keys.dropFirst() {
      try first.cache.set(7, forKey: key + "x")
      try first.cache.removeAll(withPrefix: key)
      for key in [key, key + "x"] {
        #expect(try first.cache.value(Int.self, forKey: key) == nil)
        try waitUntil { try second.cache.value(Int.self, forKey: key) == nil }
      }
    }
    for machine in [first, second] { #expect(try machine.cache.value(Int.self, forKey: "") == 0) }
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

  /// Removals, also queued ones, keep their place among the other writes, and reach this fleet alone.
  @Test(arguments: [false, true], ["", "a/"])
  func removalsOfManyReachAll(_ isBehind: Bool, _ prefix: String) throws {
    let machine = { try Machine(self.server) { if isBehind { $0.writes = .behind(limit: 1 << 20) } } }
    let (first, second) = (try machine(), try machine())
    let apart = try Machine(server) { $0.prefix = "another" }
    for key in ["a/1", "a/2", "b/1"] {
      try first.cache.set(key, forKey: key)
      try apart.cache.set("apart", forKey: key)
    }
    try first.cache.flush(timeLimit: .seconds(600))
    for key in ["a/1", "a/2", "b/1"] { try waitUntil { try second.cache.value(String.self, forKey: key) == key } }
    try second.settle()
    try first.cache.removeAll(withPrefix: prefix)
    try first.cache.set("after", forKey: "a/2")
    #expect(try first.cache.value(String.self, forKey: "a/1") == nil)
    try first.cache.flush(timeLimit: .seconds(600))
    for machine in [first, second] {
      try waitUntil { try machine.cache.value(String.self, forKey: "a/1") == nil }
      try waitUntil { try machine.cache.value(String.self, forKey: "a/2") == "after" }
      try waitUntil { try machine.cache.value(String.self, forKey: "b/1") == (prefix.isEmpty ? nil : "b/1") }
    }
    for key in ["a/1", "a/2", "b/1"] { #expect(try apart.cache.value(String.self, forKey: key) == "apart") }
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

  @Test func foreignValuesCountAsAbsent() throws {
    let machine = try Machine(server)
    for bytes in ["", "nonsense", "1-1\n", "1-1\nshort", "99999999999999999999-0\nx"] {
      try server.run("SET", "{lmdb-cache}:1:e:k", bytes)
      #expect(try machine.cache.value(String.self, forKey: "k") == nil)
      #expect(try machine.cache.value(String.self, forKey: "k") { _ in "loaded" } == "loaded")
      #expect(try machine.cache.local.value(String.self, forKey: "k") == "loaded")
      try machine.cache.local.removeAll()
    }
    #expect(machine.cache.statistics.unreadable > 0)
    // A record of another key.
    try machine.cache.set("secret", forKey: "a")
    try server.run("COPY", "{lmdb-cache}:1:e:a", "{lmdb-cache}:1:e:b")
    #expect(try machine.cache.value(String.self, forKey: "b") == nil)
    #expect(try machine.cache.value(String.self, forKey: "a") == "secret")
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
