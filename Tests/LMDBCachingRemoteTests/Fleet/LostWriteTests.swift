import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import TestSupport
import Testing

/// Queued writes arrive once and in order, whatever requests and replies are lost.
@Suite struct LostWriteTests {
  let server: RedisServer

  init() throws { server = try RedisServer() }

  private func machine(_ tier: any RemoteTier, limit: Int = 64 << 20, keptIn folder: URL? = nil) throws -> Machine {
    try Machine(tier) { $0.writes = .behind(limit: limit, keptIn: folder) }
  }

  private func faulty() throws -> FaultyTier { FaultyTier(try server.tier()) }

  private static func isWrite(_ request: FaultyTier.Request) -> Bool { request.has("EVAL") }

  @Test func aWriteAmongOthersThatTheServerRefusesForAWhileArrives() throws {
    let names = ["%RW~{lmdb-cache}:1:e:a*", "%RW~{lmdb-cache}:1:e:c*", "%RW~{lmdb-cache}:1:[^e]*"]
    try server.run(["ACL", "SETUSER", "app", "on", ">word", "&*", "+@all"] + names)
    var configuration = RedisConfiguration(unixSocket: server.socket)
    (configuration.username, configuration.password) = ("app", "word")
    let tier = FaultyTier(try RedisTier(configuration))
    let (first, second) = (try machine(tier), try Machine(server))
    let gate = Gate()
    tier.once(.delayRequest(gate), where: Self.isWrite)
    try first.cache.set(0, forKey: "a0")
    try waitUntil { gate.count == 1 }
    for key in ["a", "b", "c"] { try first.cache.set(1, forKey: key) }
    gate.open()
    try waitUntil { try second.cache.value(Int.self, forKey: "a0") == 0 }
    try waitUntil { first.cache.statistics.failures > 3 }
    try server.run(["ACL", "SETUSER", "app", "~*"])
    for key in ["a", "b", "c"] { try waitUntil { try second.cache.value(Int.self, forKey: key) == 1 } }
    try first.cache.flush(timeLimit: .seconds(300))
    #expect(first.cache.statistics.givenUpWrites == 0)
  }

  /// A folder restored to an earlier state has writes that the server already got.
  @Test func aQueueThatWasSetBackLosesNothing() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("q-\(UUID().uuidString)")
    let backup = FileManager.default.temporaryDirectory.appendingPathComponent("q-\(UUID().uuidString)")
    defer { for folder in [folder, backup] { try? FileManager.default.removeItem(at: folder) } }
    do {
      let tier = try faulty()
      let first = try machine(tier, keptIn: folder)
      try first.cache.set(0, forKey: "a")
      try first.cache.flush(timeLimit: .seconds(300))
      tier.set { Self.isWrite($0) ? .timeOut : .none }
      try first.cache.set(1, forKey: "a")
      try FileManager.default.copyItem(at: folder, to: backup)
      tier.set { _ in .none }
      for value in 2..<60 {
        try first.cache.set(value, forKey: "a")
        try first.cache.flush(timeLimit: .seconds(300))
      }
      #expect(first.cache.close(timeLimit: .seconds(300)) == 0)
    }
    let second = try machine(server.tier(), keptIn: backup)
    try second.cache.flush(timeLimit: .seconds(300))
    // Only new writes are sent.
    let reader = try Machine(server)
    #expect(try reader.cache.value(Int.self, forKey: "a") == 59)
    try second.cache.set(100, forKey: "b")
    try second.cache.flush(timeLimit: .seconds(300))
    try waitUntil { try reader.cache.value(Int.self, forKey: "b") == 100 }
  }

  /// The server replies with an error and closes the connection during the upload.
  @Test(arguments: [false, true]) func aValueOverTheServersLimitIsGivenUp(_ isTCP: Bool) throws {
    let server = try RedisServer("--proto-max-bulk-len", "1mb", listens: isTCP)
    let tier = try isTCP ? RedisTier(RedisConfiguration(port: server.port)) : server.tier()
    let (first, second) = (try machine(tier, limit: 1 << 30), try Machine(server))
    try first.cache.set(1, forKey: "before")
    try first.cache.set(Data(count: 64 << 20), forKey: "long")
    try first.cache.set(2, forKey: "after")
    try waitUntil { try second.cache.value(Int.self, forKey: "before") == 1 }
    try waitUntil { try second.cache.value(Int.self, forKey: "after") == 2 }
    try waitUntil { first.cache.statistics.givenUpWrites == 1 }
    #expect(try second.cache.value(Data.self, forKey: "long") == nil)
  }

  @Test func aWriteInPlaceOfAnotherFitsIntoAFullQueue() throws {
    let tier = try faulty()
    let machine = try machine(tier, limit: 10_000)
    tier.set { Self.isWrite($0) ? .timeOut : .none }
    try machine.cache.set(Data(count: 100), forKey: "sent")
    try machine.cache.set(Data(count: 3_500), forKey: "k")
    for round in 1...20 { try machine.cache.set(Data(repeating: UInt8(round), count: 3_500), forKey: "k") }
    #expect(try machine.cache.value(Data.self, forKey: "k")?.first == 20)
    tier.set { _ in .none }
    try machine.cache.flush(timeLimit: .seconds(300))
    #expect(try Machine.find(Data.self, "k", on: server)?.first == 20)
  }

  @Test func aRemovalOfManyThatIsSentAgainLeavesWhatOthersWroteSince() throws {
    let tier = try faulty()
    let (first, second) = (try machine(tier), try Machine(server))
    try second.cache.set("old", forKey: "p/1")
    try second.cache.set("old", forKey: "p/2")
    let isLost = Guarded(false)
    let again = Gate()
    tier.set { request in
      // The last step, which announces it to the fleet.
      if request.mentions("p/"), !request.mentions("e:p/"), !request.mentions("'SCAN'") {
        return isLost({ lost in
          defer { lost = true }; return lost
        }) ? .none : .loseReply
      }
      return isLost.current ? .delayRequest(again) : .none
    }
    try first.cache.removeAll(withPrefix: "p/")
    try waitUntil { isLost.current }
    try waitUntil { try second.cache.value(String.self, forKey: "p/1") == nil }
    try second.cache.set("new", forKey: "p/2")
    again.open()
    tier.set { _ in .none }
    try first.cache.flush(timeLimit: .seconds(300))
    let reader = try Machine(server)
    #expect(try reader.cache.value(String.self, forKey: "p/1") == nil)
    #expect(try reader.cache.value(String.self, forKey: "p/2") == "new")
    try waitUntil { try first.cache.value(String.self, forKey: "p/2") == "new" }
  }

  @Test func nothingIsAcceptedOnceClosed() throws {
    for _ in 0..<20 {
      let machine = try machine(server.tier())
      try machine.cache.set(0, forKey: "here")
      try machine.cache.flush(timeLimit: .seconds(300))
      let accepted = Guarded(0)
      let group = DispatchGroup()
      inBackground(group) {
        do {
          while true {
            try machine.cache.set(accepted.current + 1, forKey: "k")
            accepted { $0 += 1 }
          }
        } catch {}
      }
      #expect(eventually { accepted.current > 0 })
      #expect(machine.cache.close(timeLimit: .seconds(300)) == 0)
      group.wait()
      #expect(try Machine.find(Int.self, "k", on: server) == accepted.current)
      // No changes would be reported to it any more.
      #expect(throws: RemoteTierError.self) { try machine.cache.value(Int.self, forKey: "here") }
      try server.run(["FLUSHALL"])
    }
  }
}
