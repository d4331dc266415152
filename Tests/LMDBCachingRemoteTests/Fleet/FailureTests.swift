import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct FailureTests {
  let server: RedisServer

  init() throws { server = try RedisServer() }

  @Test func theLocalTiersGoOnWithoutTheServer() throws {
    let machine = try Machine(server)
    try machine.cache.set("here", forKey: "k")
    try machine.settle()
    server.stop(SIGKILL)
    #expect(try machine.cache.value(String.self, forKey: "k") == "here")
    #expect(try machine.cache.value(String.self, forKey: "other") == nil)
    #expect(try machine.cache.value(String.self, forKey: "other") { _ in "loaded" } == "loaded")
    #expect(try machine.cache.value(String.self, forKey: "other") == "loaded")
    #expect(throws: RemoteTierError.self) { try machine.cache.set("new", forKey: "k") }
    // Either value may be the fleet's.
    #expect(try machine.cache.value(String.self, forKey: "k") == nil)
    try waitUntil { !machine.cache.health.isInTouch }
    try waitUntil {
      _ = try machine.cache.value(String.self, forKey: "nothing")
      return machine.cache.health.areReadsSuspended
    }
    let requests = machine.cache.statistics.requests
    for _ in 0..<1_000 { _ = try machine.cache.value(String.self, forKey: "nothing") }
    #expect(machine.cache.statistics.requests < requests + 100)

    try server.start()
    try waitUntil { machine.cache.health.isInTouch && !machine.cache.health.isRevalidating }
    try waitUntil { (try? machine.cache.set("again", forKey: "k")) != nil }
    let other = try Machine(server)
    #expect(try other.cache.value(String.self, forKey: "k") == "again")
  }

  @Test func aRestartedServerIsFoundOut() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try first.cache.set("old", forKey: "k")
    #expect(try second.cache.value(String.self, forKey: "k") == "old")
    try first.settle()
    try second.settle()
    let gaps = second.cache.statistics.gaps
    server.stop()
    try server.start()
    try waitUntil { second.cache.statistics.gaps > gaps && second.cache.health.isHealthy }
    try second.settle()
    // A value that cannot be validated is not served.
    #expect(try second.cache.value(String.self, forKey: "k") == nil)
    try waitUntil { (try? first.cache.set("new", forKey: "k")) != nil }
    try waitUntil { try second.cache.value(String.self, forKey: "k") == "new" }
  }

  /// A gap used to be counted first: a reader of the count could still get values that the server had lost.
  @Test func anEmptiedServerIsFoundOut() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    for round in 0..<10 {
      try waitUntil { (try? first.cache.set(round, forKey: "k")) != nil }
      try waitUntil { try second.cache.value(Int.self, forKey: "k") == round }
      try first.settle()
      try second.settle()
      let gaps = second.cache.statistics.gaps
      try server.run("FLUSHALL")
      let deadline = ContinuousClock.now + .seconds(60)
      while second.cache.statistics.gaps == gaps, ContinuousClock.now < deadline {}
      #expect(second.cache.statistics.gaps > gaps)
      #expect(try second.cache.value(Int.self, forKey: "k") == nil, "in round \(round)")
    }
  }

  @Test func aSuspendedServerHoldsNobodyUp() throws {
    let machine = try Machine(server) { $0.timeLimit = .milliseconds(100) }
    // A busy machine may need longer.
    try waitUntil { (try? machine.cache.set("here", forKey: "k")) != nil && machine.cache.health.isSettled }
    server.suspend()
    defer { server.resume() }
    let start = ContinuousClock.now
    for _ in 0..<10 { #expect(try machine.cache.value(String.self, forKey: "other") == nil) }
    #expect(ContinuousClock.now - start < .seconds(120))
    try waitUntil {
      _ = try machine.cache.value(String.self, forKey: "other")
      return machine.cache.health.areReadsSuspended
    }
    #expect(machine.cache.health.failure?.code == .timedOut)
    #expect(machine.cache.statistics.breakerOpenings > 0)
    #expect(try machine.cache.value(String.self, forKey: "k") == "here")
    server.resume()
    try waitUntil { (try? machine.cache.set("new", forKey: "k")) != nil && machine.cache.health.isHealthy }
  }

  @Test func valuesAreServedForSoLongOutOfTouch() throws {
    let patient = try Machine(server) { $0.servesUnheardFor = .seconds(36_000) }
    let strict = try Machine(server) { $0.servesUnheardFor = .milliseconds(500) }
    try patient.cache.set("here", forKey: "k")
    for machine in [patient, strict] { #expect(try machine.cache.value(String.self, forKey: "k") == "here") }
    server.stop(SIGKILL)
    try waitUntil { try strict.cache.value(String.self, forKey: "k") == nil }
    #expect(try strict.cache.value(String.self, forKey: "k") { _ in "loaded" } == "loaded")
    #expect(try strict.cache.local.value(String.self, forKey: "k") == "here")
    try waitUntil { !patient.cache.health.isInTouch }
    #expect(try patient.cache.value(String.self, forKey: "k") == "here")
    #expect(patient.cache.statistics.lag > .zero)
  }

  @Test func aFullServerStillReads() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    try first.cache.set("there", forKey: "k")
    try server.run("CONFIG", "SET", "maxmemory", "1")
    let error = #expect(throws: RemoteTierError.self) { try first.cache.set("more", forKey: "more") }
    #expect(error?.code == .full)
    #expect(try second.cache.value(String.self, forKey: "k") == "there")
    try waitUntil {
      try? first.cache.set("more", forKey: "more")
      return first.cache.health.areWritesSuspended
    }
    #expect(!first.cache.health.areReadsSuspended && !first.cache.health.isHealthy)
    #expect(first.cache.health.failure?.code == .full)
    #expect(throws: RemoteTierError.self) { try first.cache.set("more", forKey: "more") }
    #expect(first.cache.health.areWritesSuspended)
    // A server that cannot write still reports changes.
    try server.run("CLIENT", "KILL", "TYPE", "normal")
    try second.settle()
    try server.run("CONFIG", "SET", "maxmemory", "0")
    try waitUntil { (try? first.cache.set("more", forKey: "more")) != nil }
    try waitUntil { try second.cache.value(String.self, forKey: "more") == "more" }
  }

  @Test func aReplicaIsReadOnly() throws {
    let replica = try RedisServer("--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "yes")
    let machine = try Machine(replica, settles: false)
    let error = #expect(throws: RemoteTierError.self) { try machine.cache.set("v", forKey: "k") }
    #expect(error?.code == .readOnly)
    #expect(try machine.cache.value(String.self, forKey: "k") == nil)
  }

  /// The permissions in the article on running a fleet suffice.
  @Test(arguments: [false, true]) func aUserNeedsTheseCommandsAndNoOthers(_ isBehind: Bool) throws {
    let commands = [
      "get", "getrange", "set", "mset", "del", "unlink", "eval", "xadd", "xread", "xrange", "xrevrange", "scan",
    ]
    try server.run(["ACL", "SETUSER", "app", "on", ">word", "~{lmdb-cache}:*", "-@all"] + commands.map { "+" + $0 })
    var configuration = RedisConfiguration(unixSocket: server.socket)
    (configuration.username, configuration.password) = ("app", "word")
    let first = try Machine(RedisTier(configuration)) { if isBehind { $0.writes = .behind(limit: 1 << 20) } }
    let second = try Machine(RedisTier(configuration))
    func flush() throws { try first.cache.flush(timeLimit: .seconds(300)) }
    try first.cache.set(1, forKey: "p/plain")
    try first.cache.set(2, forKey: "p/short", expiresIn: .seconds(36_000))
    try first.cache.set((0..<3).map { ("many\($0)", $0) })
    try flush()
    #expect(try second.cache.value(Int.self, forKey: "p/plain") == 1)
    #expect(try second.cache.value(Int.self, forKey: "p/short") == 2)
    #expect(try second.cache.value(Int.self, forKey: "many2") == 2)
    try first.cache.removeValue(forKey: "many2")
    try flush()
    try waitUntil { try second.cache.value(Int.self, forKey: "many2") == nil }
    #expect(try first.cache.value(Int.self, forKey: "loaded") { _ in 3 } == 3)
    #expect(try second.cache.value(Int.self, forKey: "loaded") { _ in 4 } == 3)
    try first.cache.removeAll(withPrefix: "p/")
    try flush()
    for key in ["p/plain", "p/short"] { try waitUntil { try second.cache.value(Int.self, forKey: key) == nil } }
    for machine in [first, second] { #expect(machine.cache.statistics.failures == 0) }
  }
}
