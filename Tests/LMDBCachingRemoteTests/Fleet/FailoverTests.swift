import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A server takes the place of another one, without what was written last.
@Suite struct FailoverTests {
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

  @Test func whatTheNewPrimaryLacksIsServedByNobody() throws {
    defer { unlink(link) }
    let port = Int.random(in: 20_000..<60_000)
    let primary = try RedisServer("--port", "\(port)")
    let replica = try RedisServer("--replicaof", "127.0.0.1 \(port)")
    try waitUntil { text(try replica.run("INFO", "replication")).contains("master_link_status:up") }
    try lead(to: primary)
    let (first, second) = (try Machine(primary, socket: link), try Machine(primary, socket: link))
    try first.cache.set("old", forKey: "k")
    #expect(try second.cache.value(String.self, forKey: "k") == "old")
    #expect(try primary.run("WAIT", "1", "10000") == .integer(1))

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
}
