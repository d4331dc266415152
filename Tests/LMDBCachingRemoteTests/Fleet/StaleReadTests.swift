import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import TestSupport
import Testing

/// No read is staler than promised, and stale values do not stay.
@Suite struct StaleReadTests {
  let server: RedisServer

  init() throws { server = try RedisServer() }

  private func faulty() throws -> FaultyTier { FaultyTier(try server.tier()) }

  private static func isRead(_ request: FaultyTier.Request) -> Bool { request.has("GET") && !request.isBlocking }

  /// An older reply must not replace a newer local write.
  @Test(arguments: [false, true]) func aReadUnderWayDoesNotReplaceWhatWasWrittenBehind(_ isRemoval: Bool) throws {
    let tier = try faulty()
    let (first, second) = (try Machine(tier) { $0.writes = .behind(limit: 1 << 20) }, try Machine(server))
    try second.cache.set("old", forKey: "k")
    let gate = Gate()
    tier.once(.delayReply(gate), where: Self.isRead)
    let (group, found) = (DispatchGroup(), Guarded<String?>(nil))
    inBackground(group) {
      let value = try? first.cache.value(String.self, forKey: "k")
      found { $0 = value }
    }
    try waitUntil { gate.count == 1 }
    if isRemoval { try first.cache.removeValue(forKey: "k") } else { try first.cache.set("new", forKey: "k") }
    try first.cache.flush(timeLimit: .seconds(300))
    // Its own change has come back, too.
    try second.cache.set("marker", forKey: "marker")
    try first.cache.set(0, forKey: "own")
    try waitUntil { try first.cache.value(String.self, forKey: "marker") == "marker" }
    try waitUntil { first.cache.statistics.invalidations > 1 }
    gate.open()
    group.wait()
    #expect(try first.cache.value(String.self, forKey: "k") == (isRemoval ? nil : "new"))
  }

  /// It is in touch only after it has read the changes it missed.
  @Test func nothingIsServedBeforeTheChangesWereRead() throws {
    let tier = try faulty()
    let first = try Machine(server)
    let second = try Machine(tier) { $0.servesUnheardFor = .zero }
    let keys = (0..<2_000).map { "k\($0)" }
    try first.cache.set(keys.map { ($0, "old") })
    for key in keys { #expect(try second.cache.value(String.self, forKey: key) == "old") }
    tier.set { $0.isBlocking ? .timeOut : .none }
    try server.run("CLIENT", "KILL", "TYPE", "normal")
    try waitUntil { !second.cache.health.isInTouch }
    try waitUntil { (try? first.cache.set(keys.map { ($0, "new") })) != nil }
    // It connects, and reads the first of the changes.
    let (reads, gate) = (Guarded(0), Gate())
    tier.set { request in
      guard request.isBlocking, request.has("XREAD") else { return .none }
      reads { $0 += 1 }
      return reads.current > 1 ? .delayRequest(gate) : .none
    }
    try waitUntil { gate.count == 1 }
    for key in keys { #expect(try second.cache.value(String.self, forKey: key) == "new") }
    #expect(!second.cache.health.isInTouch)
    gate.open()
    tier.set { _ in .none }
    try second.settle()
  }

  /// After a gap, values that cannot be validated are not served.
  @Test func aCheckThatFailsServesNothing() async throws {
    let tier = try faulty()
    let (first, second) = (try Machine(server), try Machine(tier))
    try await first.cache.set("old", forKey: "k")
    #expect(try await second.cache.value(String.self, forKey: "k") == "old")
    let refusal = FaultyTier.Fault.answer([.error("ERR no")])
    tier.set { request in
      if request.has("GETRANGE") { return refusal }
      return request.isBlocking ? .timeOut : .none
    }
    try server.run("CLIENT", "KILL", "TYPE", "normal")
    try await wait { !second.cache.health.isInTouch }
    try await wait { (try? first.cache.set("new", forKey: "k")) != nil }
    try server.run("XTRIM", "{lmdb-cache}:1:changes", "MAXLEN", "0")
    tier.set { $0.has("GETRANGE") ? refusal : .none }
    try await wait { second.cache.health.isInTouch && second.cache.health.isRevalidating }
    for _ in 0..<3 {
      #expect(try read(second) == ["new", "new"])
      #expect(try await second.cache.value(String.self, forKey: "k") == "new")
      #expect(try await second.cache.value(String.self, forKey: "k") { _ in "loaded" } == "new")
    }
    tier.set { _ in .none }
    try second.settle()
  }

  /// From a function that does not suspend.
  private func read(_ machine: Machine) throws -> [String?] {
    let found = try machine.cache.value(String.self, forKey: "k")
    return [found, try machine.cache.value(String.self, forKey: "k") { _ in "loaded" }]
  }

  /// With this setting no possibly changed value is served, not even at the start.
  @Test func nothingIsServedBeforeTheFleetWasHeardOf() throws {
    let directory = Machine.newDirectory()
    do {
      let machine = try Machine(server, directory: directory, keepsDirectory: true)
      try machine.cache.set("old", forKey: "k")
      machine.cache.close()
    }
    server.stop()
    let machine = try Machine(server, directory: directory, settles: false) { $0.servesUnheardFor = .zero }
    #expect(try machine.cache.value(String.self, forKey: "k") == nil)
    #expect(try machine.cache.value(String.self, forKey: "k") { _ in "loaded" } == "loaded")
    try server.start()
    try machine.settle()
    try machine.cache.set("new", forKey: "k")
    for _ in 0..<100 { #expect(try machine.cache.local.value(String.self, forKey: "k") == "new") }
  }

  /// A process reads its queued writes, even if others store values in the directory.
  @Test func aProcessReadsWhatItWroteInADirectoryThatItShares() throws {
    let directory = Machine.newDirectory()
    let tier = try faulty()
    let first = try Machine(tier, directory: directory, keepsDirectory: true) { $0.writes = .behind(limit: 1 << 20) }
    let (second, other) = (try Machine(server, directory: directory), try Machine(server))
    try first.cache.set(0, forKey: "connects")
    try first.cache.flush(timeLimit: .seconds(300))
    let gate = Gate()
    tier.set { $0.has("EVAL") ? .delayRequest(gate) : .none }
    try first.cache.set("new", forKey: "k")
    try first.cache.removeValue(forKey: "removed")
    for key in ["k", "removed"] { try other.cache.set("old", forKey: key) }
    for key in ["k", "removed"] { try waitUntil { try second.cache.value(String.self, forKey: key) == "old" } }
    #expect(try first.cache.value(String.self, forKey: "k") == "new")
    #expect(try first.cache.value(String.self, forKey: "removed") == nil)
    #expect(try first.cache.value(String.self, forKey: "removed") { _ in "loaded" } == "loaded")
    gate.open()
    tier.set { _ in .none }
    try first.cache.flush(timeLimit: .seconds(300))
    for machine in [first, second, other] {
      try waitUntil { try machine.cache.value(String.self, forKey: "k") == "new" }
      try waitUntil { try machine.cache.value(String.self, forKey: "removed") == nil }
    }
  }

  /// A queued write survives validation.
  @Test func whatWasWrittenBehindIsThereAfterARestart() throws {
    let directory = Machine.newDirectory()
    do {
      let machine = try Machine(server, directory: directory, keepsDirectory: true) {
        $0.writes = .behind(limit: 1 << 20)
      }
      for key in 0..<50 { try machine.cache.set(key, forKey: "k\(key)") }
      #expect(machine.cache.close(timeLimit: .seconds(300)) == 0)
    }
    let machine = try Machine(server, directory: directory)
    for key in 0..<50 { #expect(try machine.cache.local.value(Int.self, forKey: "k\(key)") == key) }
    #expect(machine.cache.statistics.hits == 0)
  }
}
