import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import TestSupport
import Testing

@testable import LMDBCachingRemote

/// No read is staler than promised, and stale values do not stay.
@Suite struct StaleReadTests {
  let server: RedisServer

  init() throws { server = try RedisServer() }

  private func faulty() throws -> FaultyTier { FaultyTier(try server.tier()) }

  private static func isRead(_ request: FaultyTier.Request) -> Bool { request.has("GET") && !request.isBlocking }

  /// A forged maximum revision could never be replaced.
  @Test func aRevisionBehindAllOthersIsNone() throws {
    let writer = try Machine(server)
    try writer.cache.set("old", forKey: "k")
    try server.run(
      "EVAL",
      """
      local value = redis.call('GET', KEYS[1])
      redis.call('SET', KEYS[1], ARGV[1] .. string.sub(value, (string.find(value, '\\n'))))
      """, "1", "{lmdb-cache}:1:e:k", "17592186044415-1048575")
    let reader = try Machine(server)
    #expect(try reader.cache.value(String.self, forKey: "k") == nil)
    #expect(reader.cache.statistics.unreadable == 1)
    try writer.cache.set("new", forKey: "k")
    try waitUntil { try reader.cache.value(String.self, forKey: "k") == "new" }
  }

  /// A local value may have it too, since others may write to the directory.
  @Test(arguments: [false, true]) func aLocalRevisionBehindAllOthersHarmsNothing(_ isReadFirst: Bool) throws {
    let writer = try Machine(server)
    try writer.cache.set("old", forKey: "k")
    let directory: URL
    do {
      let reader = try Machine(server, keepsDirectory: true)
      #expect(try reader.cache.value(String.self, forKey: "k") == "old")
      let watch = reader.cache.local.watch("k", reader.cache.news)
      let entry = try reader.cache.local.archive("mine", forKey: "k", expires: 0, cost: nil, tags: [])
      _ = try reader.cache.local.keep(entry, revision: .max, since: watch, reader.cache.news)
      directory = reader.directory
    }
    try writer.cache.set("new", forKey: "k")
    let reader = try Machine(server, directory: directory, settles: !isReadFirst)
    if isReadFirst { _ = try reader.cache.value(String.self, forKey: "k") }
    try reader.settle()
    _ = try reader.cache.value(String.self, forKey: "k")
  }

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
      return reads({
        $0 += 1; return $0
      }) > 1 ? .delayRequest(gate) : .none
    }
    try waitUntil { gate.count == 1 }
    for key in keys { #expect(try second.cache.value(String.self, forKey: key) == "new") }
    #expect(!second.cache.health.isInTouch)
    gate.open()
    tier.set { _ in .none }
    try second.settle()
  }

  /// After a gap, values that cannot be validated are not served.
  @Test(arguments: [false, true]) func aCheckThatFailsServesNothing(_ isAsync: Bool) async throws {
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
    try await wait { (try? waiting(first) { try $0.set("new", forKey: "k") }) != nil }
    try server.run("XTRIM", "{lmdb-cache}:1:changes", "MAXLEN", "0")
    tier.set { $0.has("GETRANGE") ? refusal : .none }
    try await wait { second.cache.health.isInTouch && second.cache.health.isRevalidating }
    for _ in 0..<3 {
      if isAsync {
        #expect(try await second.cache.value(String.self, forKey: "k") == "new")
        #expect(try await second.cache.value(String.self, forKey: "k") { _ in "loaded" } == "new")
      } else {
        #expect(try waiting(second) { try $0.value(String.self, forKey: "k") } == "new")
        #expect(try waiting(second) { try $0.value(String.self, forKey: "k") { _ in "loaded" } } == "new")
      }
    }
    tier.set { _ in .none }
    try second.settle()
  }

  @Test func whatIsInMemoryAloneIsCheckedAfterAGap() throws {
    let tier = try faulty()
    let (first, second) = (try Machine(server), try Machine(tier))
    let gaps = second.cache.statistics.gaps
    tier.set { $0.isBlocking ? .timeOut : .none }
    try server.run("CLIENT", "KILL", "TYPE", "normal")
    try waitUntil { !second.cache.health.isInTouch }
    // No journal can be created on this disk.
    try Data().write(to: second.directory.appendingPathComponent("journals"))
    try waitUntil { (try? second.cache.set("old", forKey: "k")) != nil }
    guard case .memoryOnly = second.cache.local.health else { throw NotInTime() }
    #expect(try second.cache.value(String.self, forKey: "k") == "old")
    try waitUntil { (try? first.cache.set("new", forKey: "k")) != nil }
    try server.run("XTRIM", "{lmdb-cache}:1:changes", "MAXLEN", "0")
    tier.set { _ in .none }
    try waitUntil { second.cache.statistics.gaps > gaps }
    try second.settle()
    #expect(try second.cache.value(String.self, forKey: "k") == "new")
  }

  private func waiting<R>(_ machine: Machine, _ body: (DistributedCache) throws -> R) throws -> R {
    try body(machine.cache)
  }

  /// With this setting no possibly changed value is served, not even at the start.
  @Test func nothingIsServedBeforeTheFleetWasHeardOf() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("m-\(UUID().uuidString)")
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
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("m-\(UUID().uuidString)")
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

  /// A queued write gets a revision and survives validation.
  @Test func whatWasWrittenBehindIsThereAfterARestart() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("m-\(UUID().uuidString)")
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

  /// A machine that falls behind the fleet's changes is out of touch, and reports its lag.
  @Test func whoFallsBehindIsOutOfTouch() throws {
    let tier = try faulty()
    let (first, second) = (try Machine(server), try Machine(tier) { $0.timeLimit = .seconds(5) })
    try first.cache.set("old", forKey: "k")
    try waitUntil { try second.cache.value(String.self, forKey: "k") == "old" }
    #expect(second.cache.statistics.lag == .zero)
    // The stream always ends a minute after the last entry read.
    tier.set { request in
      guard request.has("XREAD") else { return .none }
      return .change { replies in
        var replies = replies
        guard case .array(let entries) = replies[3], case .array(let parts)? = entries.first,
          case .bytes(let id) = parts[0], let time = Int(String(decoding: id, as: UTF8.self).split(separator: "-")[0])
        else { return replies }
        replies[3] = .array([.array([.bytes(Data("\(time + 60_000)-0".utf8)), parts[1]])])
        return replies
      }
    }
    try waitUntil { !second.cache.health.isInTouch }
    #expect(second.cache.health.failure?.code == .timedOut)
    tier.set { _ in .none }
    try second.settle()
    try waitUntil { second.cache.statistics.lag == .zero }
  }
}
