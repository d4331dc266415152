import Foundation
import LMDBCachingRedis
import Platform
import RedisTestSupport
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// Fails a fleet's servers: a primary and its replica, and a link to the current primary's socket.
final class Disturber {
  private var primary: RedisServer
  private var replica: RedisServer
  let link: String
  var random: SeededRandom
  private(set) var disturbances: [FleetHistory.Disturbance] = []

  init(seed: UInt64) throws {
    (primary, replica) = (try Self.server(), try Self.server())
    link = "/tmp/f-\(UUID().uuidString.prefix(8))"
    random = SeededRandom(seed)
    try replica.run("REPLICAOF", "127.0.0.1", "\(primary.port)")
    try lead(to: primary)
  }

  deinit { unlink(link) }

  private static func server() throws -> RedisServer {
    try RedisServer("--repl-diskless-sync-delay", "0", listens: true)
  }

  private func lead(to server: RedisServer) throws {
    // Replaced atomically, so that the link always exists.
    try FileManager.default.createSymbolicLink(atPath: link + ".new", withDestinationPath: server.socket)
    guard rename(link + ".new", link) == 0 else { throw POSIXError(.EIO) }
  }

  func disturb(_ report: inout TrialReport) throws {
    usleep(UInt32(500_000 + random.below(5_500_000)))
    let start = MonotonicClock.nanoseconds
    var (empties, isFailover) = (false, false)
    switch random.below(10) {
    case 0:
      report.count("kills of the server")
      primary.stop(SIGKILL)
      usleep(UInt32(random.below(2_000_000)))
      try primary.start()
      empties = true
    case 1:
      // It runs the requests of that time afterwards, when their machines have given them up.
      report.count("suspensions of the server")
      primary.suspend()
      usleep(UInt32(random.below(2_500_000)))
      primary.resume()
    case 2:
      report.count("emptyings of the server")
      try primary.run("FLUSHALL")
      empties = true
    case 3:
      report.count("times all connections were closed")
      try primary.run("CLIENT", "KILL", "TYPE", "normal")
    case 4:
      report.count("times the server was full")
      try primary.run("CONFIG", "SET", "maxmemory", "1")
      usleep(UInt32(random.below(1_000_000)))
      try primary.run("CONFIG", "SET", "maxmemory", "0")
    case 5:
      report.count("times changes were forgotten")
      try primary.run("CLIENT", "KILL", "TYPE", "normal")
      try primary.run("XTRIM", "{lmdb-cache}:1:changes", "MAXLEN", "0")
    case 6:
      report.count("times it was busy")
      // Blocks the server for about a quarter of a second.
      try primary.run("EVAL", "local n = 0 for i = 1, 20000000 do n = n + i end return n", "0")
    case 7, 8:
      guard try replicates() else { return }
      report.count("promotions of a replica")
      try promote()
      isFailover = true
    default:
      report.count("times entries were evicted by the server")
      let keys = "for index, key in ipairs(redis.call('KEYS', '{lmdb-cache}:1:e:*')) do"
      try primary.run("EVAL", "\(keys) if index % 3 == 0 then redis.call('DEL', key) end end", "0")
      empties = true
    }
    disturbances.append(
      FleetHistory.Disturbance(
        start: start, end: MonotonicClock.nanoseconds, empties: empties, isFailover: isFailover))
  }

  /// Whether the replica has caught up, or will within moments.
  private func replicates() throws -> Bool {
    guard case .bytes(let bytes) = try replica.run("INFO", "replication") else { return false }
    let text = String(decoding: bytes, as: UTF8.self)
    return ["master_link_status:up", "master_sync_in_progress:0"].allSatisfy { text.contains($0) }
  }

  private func promote() throws {
    try replica.run("REPLICAOF", "NO", "ONE")
    // The old primary still accepts writes, which are lost.
    if random.below(2) == 0 { usleep(UInt32(random.below(100_000))) }
    try lead(to: replica)
    swap(&primary, &replica)
    if random.below(2) == 0 {
      replica.stop(SIGKILL)
      try replica.start()
    }
    try replica.run("REPLICAOF", "127.0.0.1", "\(primary.port)")
  }

  func calm() throws {
    primary.resume()
    try primary.run("CONFIG", "SET", "maxmemory", "0")
  }
}
