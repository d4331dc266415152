import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A replica takes the place of the primary.
@Suite struct ServerChangeTests {
  /// A link to the socket of the one that is the primary.
  private let link = "/tmp/f-\(UUID().uuidString.prefix(8))"

  private func lead(to server: RedisServer) throws {
    // In one step, so that nobody finds nothing.
    let new = link + ".new"
    try FileManager.default.createSymbolicLink(atPath: new, withDestinationPath: server.socket)
    guard rename(new, link) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  private func text(_ reply: RemoteReply) -> String {
    if case .bytes(let bytes) = reply { String(decoding: bytes, as: UTF8.self) } else { "" }
  }

  /// A primary and its replica, which has all of it.
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

    // What comes now does not reach it.
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

  /// Connections to a primary that has become a replica survive that: nobody may stay with it.
  @Test func aPrimaryThatBecomesAReplicaIsLeft() throws {
    let (primary, replica) = try pair()
    defer { unlink(link) }
    let (first, second) = (try Machine(primary, socket: link), try Machine(primary, socket: link))
    try first.cache.set("old", forKey: "k")
    #expect(try second.cache.value(String.self, forKey: "k") == "old")
    #expect(try primary.run("WAIT", "1", "100000") == .integer(1))
    try replica.run("REPLICAOF", "NO", "ONE")
    try lead(to: replica)
    try primary.run("REPLICAOF", "127.0.0.1", "\(replica.port)")
    try waitUntil { (try? first.cache.set("new", forKey: "k")) != nil }
    try waitUntil { try second.cache.value(String.self, forKey: "k") == "new" }
    // Both ask the new one: what only that has is found.
    primary.stop(SIGKILL)
    try waitUntil { (try? second.cache.set("newest", forKey: "k")) != nil }
    try waitUntil { try first.cache.value(String.self, forKey: "k") == "newest" }
  }

  /// What was fetched, and not heard of yet, may be lost as well as what was written.
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
    // Of what comes now the follower hears nothing.
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
}
