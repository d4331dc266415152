import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import Testing

/// A fleet's keys are on one node of a cluster, and any node redirects to it.
@Suite struct ClusterTests {
  private func text(_ reply: RemoteReply) -> String {
    switch reply {
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    case .error(let message): message
    default: ""
    }
  }

  private func node() throws -> RedisServer {
    try RedisServer(
      "--cluster-enabled", "yes", "--cluster-config-file", "nodes", "--cluster-require-full-coverage", "no",
      listens: true)
  }

  @Test func theNodeThatHasTheKeysIsAsked() throws {
    let (first, second) = (try node(), try node())
    guard case .integer(let slot) = try first.run("CLUSTER", "KEYSLOT", "{lmdb-cache}") else { throw NotInTime() }
    try second.run("CLUSTER", "ADDSLOTS", "\(slot)")
    try first.run("CLUSTER", "ADDSLOTS", "\((slot + 1) % 16_384)")
    try first.run("CLUSTER", "MEET", "127.0.0.1", "\(second.port)")
    try waitUntil {
      try text(first.run("GET", "{lmdb-cache}")) == "MOVED \(slot) 127.0.0.1:\(second.port)"
        && text(second.run("CLUSTER", "INFO")).contains("cluster_state:ok")
    }
    func machine(_ port: Int, _ change: (inout DistributedCacheConfiguration) -> Void = { _ in }) throws -> Machine {
      try Machine(RedisTier(RedisConfiguration(port: port)), change)
    }
    let (here, there) = (try machine(first.port), try machine(second.port))
    let behind = try machine(first.port) { $0.writes = .behind(limit: 1 << 20) }
    try waitUntil { (try? here.cache.set("value", forKey: "k")) != nil }
    #expect(try there.cache.value(String.self, forKey: "k") == "value")
    try behind.cache.set("newer", forKey: "k")
    for machine in [here, there] { try waitUntil { try machine.cache.value(String.self, forKey: "k") == "newer" } }
    try waitUntil { try here.cache.value(Int.self, forKey: "n") { _ in 7 } == 7 }
    try behind.cache.removeAll()
    try behind.cache.flush(timeLimit: .seconds(300))
    for machine in [here, there] { try waitUntil { try machine.cache.value(String.self, forKey: "k") == nil } }
  }
}
