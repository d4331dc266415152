import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct WriteBehindTests {
  let server: RedisServer
  private let queues = QueueFolder()
  private var folder: URL { queues.url }

  init() throws { server = try RedisServer() }

  private func machine(limit: Int = 64 << 20) throws -> Machine {
    try Machine(server) { $0.writes = .behind(limit: limit) }
  }

  @Test func aFullQueueIsAnError() throws {
    let machine = try machine(limit: 10_000)
    server.stop(SIGKILL)
    try machine.cache.set(Data(count: 5_000), forKey: "a")
    let error = #expect(throws: RemoteTierError.self) {
      for key in 0..<10 { try machine.cache.set(Data(count: 5_000), forKey: "b\(key)") }
    }
    #expect(error?.code == .queueFull)
    #expect(try machine.cache.value(Data.self, forKey: "b9") == nil)
    try server.start()
    try machine.cache.flush(timeLimit: .seconds(600))
    try machine.cache.set(Data(count: 5_000), forKey: "b9")
  }

  @Test func whatWaitsAndWasEvictedIsStillRead() throws {
    let machine = try machine()
    server.stop(SIGKILL)
    try machine.cache.set("value", forKey: "a/k")
    try machine.cache.set("value", forKey: "b/k")
    try machine.cache.local.removeAll()
    #expect(try machine.cache.value(String.self, forKey: "a/k") == "value")
    #expect(try machine.cache.value(String.self, forKey: "b/k") { _ in "loaded" } == "value")
    try machine.cache.removeAll(withPrefix: "a/")
    #expect(try machine.cache.value(String.self, forKey: "a/k") == nil)
    try machine.cache.set("newer", forKey: "a/k")
    try machine.cache.local.removeAll()
    #expect(try machine.cache.value(String.self, forKey: "a/k") == "newer")
  }

  @Test func closingSendsWhatWaits() throws {
    let first = try machine()
    for key in 0..<500 { try first.cache.set(key, forKey: "k\(key)") }
    #expect(first.cache.close(timeLimit: .seconds(300)) == 0)
    let error = #expect(throws: RemoteTierError.self) { try first.cache.set(0, forKey: "k") }
    #expect(error?.code == .closed)
    let other = try Machine(server)
    #expect(try other.cache.value(Int.self, forKey: "k499") == 499)
    let second = try machine()
    server.stop(SIGKILL)
    try second.cache.set(1, forKey: "k")
    #expect(second.cache.close(timeLimit: .milliseconds(100)) == 1)
  }

  /// A queued write that expires is gone here at once, and in the fleet after its turn.
  @Test(arguments: [false, true]) func whatExpiresWhileItWaitsIsRemoved(_ isKept: Bool) throws {
    let clock = ManualClock()
    var local = CacheConfiguration()
    local.clock = .manual(clock)
    let tier = FaultyTier(try server.tier())
    let first = try Machine(tier, local: local) {
      $0.writes = .behind(limit: 64 << 20, keptIn: isKept ? folder : nil)
    }
    let second = try Machine(server)
    try second.cache.set("old", forKey: "k")
    let gate = Gate()
    tier.set { $0.has("EVAL") ? .delayRequest(gate) : .none }
    try first.cache.set("first", forKey: "sent")
    try waitUntil { gate.count == 1 }
    try first.cache.set("short", forKey: "k", expiresIn: .seconds(60))
    #expect(try first.cache.value(String.self, forKey: "k") == "short")
    clock.advance(by: .seconds(61))
    for _ in 0..<2 { #expect(try first.cache.value(String.self, forKey: "k") == nil) }
    #expect(first.cache.statistics.waitingWrites == 2)
    gate.open()
    try first.cache.flush(timeLimit: .seconds(300))
    try waitUntil { try second.cache.value(String.self, forKey: "k") == nil }
    #expect(try Machine.find(String.self, "k", on: server) == nil)
    #expect(try Machine.find(String.self, "sent", on: server) == "first")
  }

  // MARK: Kept over the end of the process

  private func machine(keptIn folder: URL, directory: URL? = nil) throws -> Machine {
    try Machine(server, directory: directory, settles: false) {
      $0.writes = .behind(limit: 64 << 20, keptIn: folder)
    }
  }

  /// A resent write that already arrived has no second effect.
  @Test func whatIsSentAgainIsNoNewWrite() throws {
    let other = try Machine(server)
    do {
      let tier = FaultyTier(try server.tier()) { $0.has("EVAL") ? .loseReply : .none }
      let first = try Machine(tier) { $0.writes = .behind(limit: 64 << 20, keptIn: folder) }
      try first.cache.set("first", forKey: "k")
      try waitUntil { try other.cache.value(String.self, forKey: "k") == "first" }
      #expect(first.cache.close(timeLimit: .zero) == 1)
    }
    try other.cache.set("second", forKey: "k")
    let second = try machine(keptIn: folder)
    try second.cache.flush(timeLimit: .seconds(300))
    #expect(try other.cache.value(String.self, forKey: "k") == "second")
    try second.settle()
    try waitUntil { try second.cache.value(String.self, forKey: "k") == "second" }
  }

  /// Each process has a queue in the folder. Inherited writes are older than all writes of their heir, however
  /// late they are sent.
  @Test func whatProcessesHaveLeftGoesBeforeWhatTheirHeirWrites() throws {
    server.suspend()
    do {
      let machines = try (0..<3).map { _ in try machine(keptIn: folder) }
      for (number, machine) in machines.enumerated() {
        for key in 0..<500 { try machine.cache.set(number, forKey: "k\(number)/\(key)") }
        try machine.cache.set("old", forKey: "last")
      }
      for machine in machines { machine.cache.close(timeLimit: .zero) }
    }
    server.resume()
    let heir = try machine(keptIn: folder)
    try heir.cache.set("new", forKey: "last")
    #expect(try heir.cache.value(String.self, forKey: "last") == "new")
    #expect(heir.cache.close(timeLimit: .seconds(300)) == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    let reader = try Machine(server)
    #expect(try reader.cache.value(String.self, forKey: "last") == "new")
    for number in 0..<3 { #expect(try reader.cache.value(Int.self, forKey: "k\(number)/499") == number) }
  }

  @Test func aFolderThatIsNoneIsAnError() throws {
    try Data("mine".utf8).write(to: folder)
    let error = #expect(throws: RemoteTierError.self) { try machine(keptIn: folder) }
    #expect(error?.code == .notKept)
    #expect(try Data(contentsOf: folder) == Data("mine".utf8))
  }
}

/// A place for queues, removed with the object.
private final class QueueFolder: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("q-\(UUID().uuidString)")

  deinit { try? FileManager.default.removeItem(at: url) }
}
