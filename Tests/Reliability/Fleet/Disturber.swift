import Foundation
import Platform
import RedisTestSupport
import TestSupport

/// Does to a fleet's server what happens to servers.
final class Disturber {
  private let server: RedisServer
  var random: SeededRandom
  private(set) var disturbances: [FleetHistory.Disturbance] = []

  init(_ server: RedisServer, seed: UInt64) {
    self.server = server
    random = SeededRandom(seed)
  }

  /// Waits a while, and then does something.
  func disturb(_ report: inout TrialReport) throws {
    usleep(UInt32(500_000 + random.below(5_500_000)))
    let start = MonotonicClock.nanoseconds
    var empties = false
    switch random.below(7) {
    case 0:
      report.count("kills of the server")
      server.stop(SIGKILL)
      usleep(UInt32(random.below(2_000_000)))
      try server.start()
      empties = true
    case 1:
      report.count("suspensions of the server")
      server.suspend()
      usleep(UInt32(random.below(2_500_000)))
      server.resume()
    case 2:
      report.count("emptyings of the server")
      try server.run("FLUSHALL")
      empties = true
    case 3:
      report.count("times all connections were closed")
      try server.run("CLIENT", "KILL", "TYPE", "normal")
    case 4:
      report.count("times the server was full")
      try server.run("CONFIG", "SET", "maxmemory", "1")
      usleep(UInt32(random.below(1_000_000)))
      try server.run("CONFIG", "SET", "maxmemory", "0")
    case 5:
      report.count("times changes were forgotten")
      try server.run("CLIENT", "KILL", "TYPE", "normal")
      try server.run("XTRIM", "{lmdb-cache}:1:changes", "MAXLEN", "0")
    default:
      report.count("times it was busy")
      // A quarter of a second or so, in which it answers nobody.
      try server.run("EVAL", "local n = 0 for i = 1, 20000000 do n = n + i end return n", "0")
    }
    disturbances.append(
      FleetHistory.Disturbance(start: start, end: MonotonicClock.nanoseconds, empties: empties))
  }

  /// The server is as it should be.
  func calm() throws {
    server.resume()
    try server.run("CONFIG", "SET", "maxmemory", "0")
  }
}
