import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct ServerChangeTests {
  /// A link to the primary's socket.
  private let link = "/tmp/f-\(UUID().uuidString.prefix(8))"

  private func lead(to server: RedisServer) throws {
    // Replaced atomically, so that the link always exists.
    let new = link + ".new"
    try FileManager.default.createSymbolicLink(atPath: new, withDestinationPath: server.socket)
    guard rename(new, link) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  private func text(_ reply: RemoteReply) -> String {
    if case .bytes(let bytes) = reply { String(decoding: bytes, as: UTF8.self) } else { "" }
  }

  private func pair() throws -> (primary: RedisServer, replica: RedisServer) {
    let primary = try RedisServer(listens: true)
    let replica = try RedisServer("--replicaof", "127.0.0.1 \(primary.port)", listens: true)
    try waitUntil { text(try replica.run("INFO", "replication")).contains("master_link_status:up") }
    try lead(to: primary)
    return (primary, replica)
  }

  @Test func whatTheNewPrimaryLacksIsServedByNobody() throws {
    let (primary, replica) = try pair()
    defer { unlink(link) }
    let (first, second) = (try Machine(primary, socket: link), try Machine(primary, socket: link))
    try first.cache.set("old", forKey: "k")
    #expect(try second.cache.value(String.self, forKey: "k") == "old")
    #expect(try primary.run("WAIT", "1", "100000") == .integer(1))

    // Later writes to the old primary do not reach the new one.
    try replica.run("REPLICAOF", "NO", "ONE")
    try first.cache.set("new", forKey: "k")
    try first.cache.set("new", forKey: "lost")
    try waitUntil { try second.cache.value(String.self, forKey: "k") == "new" }
    #expect(try second.cache.value(String.self, forKey: "lost") == "new")
    let gaps = [first, second].map(\.cache.statistics.gaps)
    try lead(to: replica)
    primary.stop(SIGKILL)

    for (machine, gaps) in zip([first, second], gaps) {
      try waitUntil { machine.cache.statistics.gaps > gaps && machine.cache.health.isSettled }
      #expect(try machine.cache.value(String.self, forKey: "k") == "old")
      #expect(try machine.cache.value(String.self, forKey: "lost") == nil)
    }
    try waitUntil { (try? first.cache.set("newest", forKey: "k")) != nil }
    try waitUntil { try second.cache.value(String.self, forKey: "k") == "newest" }
  }

  /// A fetched value may be lost before its change was read, like a written one.
  @Test func whatWasFetchedAndTheNewPrimaryLacksIsServedByNobody() throws {
    let (primary, replica) = try pair()
    defer { unlink(link) }
    let tier = FaultyTier(try RedisTier(RedisConfiguration(unixSocket: link)))
    let (first, second) = (try Machine(primary), try Machine(tier))
    try first.cache.set("old", forKey: "k")
    try first.cache.set("old", forKey: "marker")
    #expect(try second.cache.value(String.self, forKey: "marker") == "old")
    #expect(try primary.run("WAIT", "1", "100000") == .integer(1))
    try second.settle()
    try replica.run("REPLICAOF", "NO", "ONE")
    // The follower does not read the coming changes.
    let gate = Gate()
    tier.set { $0.isBlocking ? .delayRequest(gate) : .none }
    try waitUntil { gate.count == 1 }
    try first.cache.set("lost", forKey: "k")
    #expect(try second.cache.value(String.self, forKey: "k") == "lost")
    try lead(to: replica)
    primary.stop(SIGKILL)
    gate.open()
    tier.set { _ in .none }
    try waitUntil { try second.cache.value(String.self, forKey: "k") == "old" }
    try second.settle()
    #expect(try second.cache.value(String.self, forKey: "k") == "old")
  }

  /// One server's cursor means nothing to another, and the last removals may not have been replicated.
  @Test(arguments: [false, true], ["SCAN", "end"])
  func aRemovalOfManyIsWholeAlthoughAnotherServerTakesOver(_ isBehind: Bool, _ place: String) throws {
    let (primary, replica) = try pair()
    defer { unlink(link) }
    let tier = FaultyTier(try RedisTier(RedisConfiguration(unixSocket: link)))
    let machine = try Machine(tier) { if isBehind { $0.writes = .behind(limit: 1 << 24) } }
    let keys = (0..<1_500).map { "p/\($0)" }
    let writer = try Machine(primary)
    try writer.cache.set(keys.map { ($0, "old") })
    try writer.cache.set("other", forKey: "other")
    #expect(try primary.run("WAIT", "1", "100000") == .integer(1))

    // It has removed some of them or all, unknown to the other server.
    let gate = Gate()
    let met = Guarded(0)
    tier.set { request in
      let isPage = request.mentions("'SCAN'") && request.mentions("e:p/")
      guard place == "end" ? request.mentions("'p', ARGV[2]") : isPage else { return .none }
      let number = met({ met in
        met += 1
        return met
      })
      return number == (place == "end" ? 1 : 2) ? .delayRequest(gate) : .none
    }
    let group = DispatchGroup()
    let removed = Guarded<Result<Void, any Error>?>(nil)
    try replica.run("REPLICAOF", "NO", "ONE")
    inBackground(group) {
      let result = Result {
        try machine.cache.removeAll(withPrefix: "p/")
        try machine.cache.flush(timeLimit: .seconds(300))
      }
      removed { $0 = result }
    }
    try waitUntil { gate.count == 1 }
    try lead(to: replica)
    primary.stop(SIGKILL)
    tier.renewConnections()
    gate.open()
    group.wait()
    if case .failure? = removed.current {
      // The caller must retry. Queued removals are resent automatically.
      #expect(!isBehind)
      try waitUntil { (try? machine.cache.removeAll(withPrefix: "p/")) != nil }
    }
    let reader = try Machine(replica)
    let rest = try keys.filter { try reader.cache.value(String.self, forKey: $0) != nil }
    #expect(rest.isEmpty, "\(rest.count) are left")
    #expect(try reader.cache.value(String.self, forKey: "other") == "other")
  }
}
