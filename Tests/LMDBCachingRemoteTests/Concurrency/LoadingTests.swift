import Foundation
import LMDBCaching
import LMDBCachingRedis
import RedisTestSupport
import TestSupport
import Testing

@Suite struct LoadingTests {
  let server: RedisServer

  init() throws { server = try RedisServer() }

  @Test func oneMachineLoads() async throws {
    var local = CacheConfiguration()
    local.loadWaitLimit = .seconds(3_600)
    let machines = try (0..<4).map { _ in
      try Machine(server, local: local) {
        $0.leaseDuration = .seconds(3_600)
        $0.loadWaitLimit = .seconds(3_600)
      }
    }
    let loads = Guarded(0)
    await withTaskGroup(of: Int?.self) { group in
      for machine in machines {
        for _ in 0..<16 {
          for key in 0..<20 {
            group.addTask {
              try? await machine.cache.value(Int.self, forKey: "k\(key)") { _ in
                loads { $0 += 1 }
                try await Task.sleep(for: .milliseconds(20))
                return key
              }
            }
          }
        }
      }
      for await value in group { #expect(value != nil) }
    }
    #expect(loads.current == 20)
    for machine in machines {
      for key in 0..<20 { #expect(try machine.cache.local.value(Int.self, forKey: "k\(key)") == key) }
    }
  }

  @Test func whatIsLoadedIsTheFleets() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    var options = LoadOptions(lifetime: .seconds(3_600))
    options.cost = 7
    let value = try first.cache.value(String.self, forKey: "k", options: options) { context in
      context.tags = ["t"]
      return "loaded"
    }
    #expect(value == "loaded")
    let there = try second.cache.value(String.self, forKey: "k", options: options) { _ -> String in throw NotInTime() }
    #expect(there == "loaded")
    let entries = try [first, second].map { try $0.cache.local.entry(forKey: "k") }
    #expect(entries[0]?.expiration == entries[1]?.expiration)
    #expect(entries.allSatisfy { $0?.cost == 7 && $0?.isTagged("t") == true })
  }

  @Test func aTurnEndsWithItsLoadOrItsTime() throws {
    let (first, second) = (try Machine(server) { $0.leaseDuration = .seconds(300) }, try Machine(server))
    #expect(throws: NotInTime.self) {
      try first.cache.value(String.self, forKey: "failed") { _ -> String in throw NotInTime() }
    }
    let value = try first.cache.value(String.self, forKey: "not stored") { context in
      context.isStored = false
      return "loaded"
    }
    #expect(value == "loaded")
    #expect(try first.cache.value(String.self, forKey: "not stored") == nil)
    for key in ["failed", "not stored", "died"] {
      // The machine that has the turn died.
      if key == "died" { try server.run("SET", "{lmdb-cache}:1:l:died", "another", "PX", "300") }
      #expect(try second.cache.value(String.self, forKey: key) { _ in "loaded" } == "loaded")
      #expect(try Machine.find(String.self, key, on: server) == "loaded")
    }
    // A machine that has waited for long enough keeps its value to itself.
    let third = try Machine(server) { $0.loadWaitLimit = .milliseconds(100) }
    try server.run("SET", "{lmdb-cache}:1:l:k", "somebody", "PX", "3600000")
    #expect(try third.cache.value(String.self, forKey: "k") { _ in "loaded" } == "loaded")
    #expect(try third.cache.local.value(String.self, forKey: "k") == "loaded")
    #expect(try Machine.find(String.self, "k", on: server) == nil)
  }

  @Test(arguments: [false, true]) func aWriteMeanwhileWins(_ isRemoval: Bool) throws {
    let (first, second) = (try Machine(server), try Machine(server))
    let value = try first.cache.value(String.self, forKey: "k") { _ in
      try second.cache.set("set", forKey: "k")
      if isRemoval { try second.cache.removeValue(forKey: "k") }
      return "loaded"
    }
    #expect(value == "loaded")
    try first.settle()
    try waitUntil { try first.cache.value(String.self, forKey: "k") == (isRemoval ? nil : "set") }
    #expect(try second.cache.value(String.self, forKey: "k") == (isRemoval ? nil : "set"))
    let third = try Machine(server)
    #expect(try third.cache.value(String.self, forKey: "k") == (isRemoval ? nil : "set"))
  }

  /// The server still has the old value, which does not count.
  @Test func aValueIsLoadedAgainBeforeItExpires() throws {
    let (first, second) = (try Machine(server), try Machine(server))
    var options = LoadOptions(lifetime: .seconds(3_600))
    options.refreshAhead = 0.000_01
    #expect(try first.cache.value(Int.self, forKey: "k", options: options) { _ in 1 } == 1)
    try waitUntil {
      _ = try first.cache.value(Int.self, forKey: "k", options: options) { _ in 2 }
      return try second.cache.value(Int.self, forKey: "k") == 2
    }
  }

  /// One task loads a key even if local values may not be served.
  @Test(arguments: [false, true]) func oneLoadsWithoutAServer(_ isAsync: Bool) async throws {
    var local = CacheConfiguration()
    local.loadWaitLimit = .seconds(3_600)
    let machine = try Machine(server, local: local) { $0.servesUnheardFor = .zero }
    try await machine.cache.set("old", forKey: "k")
    server.stop(SIGKILL)
    try await wait { !machine.cache.health.isInTouch }
    let (loads, gate, values, group) = (Guarded(0), Gate(), Guarded<[String]>([]), DispatchGroup())
    for _ in 0..<30 {
      if isAsync {
        group.enter()
        Task {
          let value = try? await machine.cache.value(String.self, forKey: "k") { _ in
            loads { $0 += 1 }
            await withCheckedContinuation { continuation in gate.whenOpen { continuation.resume() } }
            return "loaded"
          }
          values { $0.append(value ?? "") }
          group.leave()
        }
        continue
      }
      inBackground(group) {
        let value = try? machine.cache.value(String.self, forKey: "k") { _ in
          loads { $0 += 1 }
          let done = DispatchSemaphore(value: 0)
          gate.whenOpen { done.signal() }
          done.wait()
          return "loaded"
        }
        values { $0.append(value ?? "") }
      }
    }
    try await wait { gate.count >= 1 }
    // With the breaker open, later callers wait for the first load at once.
    try await wait { machine.cache.statistics.failures > 0 }
    usleep(300_000)
    let count = loads.current
    gate.open()
    try await wait { values.current.count == 30 }
    #expect(count == 1)
    #expect(values.current == Array(repeating: "loaded", count: 30))
    #expect(try machine.cache.local.value(String.self, forKey: "k") == "old")
  }

  /// A server that grants no lease still has values.
  @Test(arguments: [false, true]) func aFullServerIsReadBeforeLoading(_ isAsync: Bool) async throws {
    let (first, second) = (try Machine(server), try Machine(server))
    for key in 0..<10 { try await first.cache.set("there", forKey: "k\(key)") }
    try server.run("CONFIG", "SET", "maxmemory", "1")
    for key in 0..<10 {
      if isAsync {
        #expect(try await second.cache.value(String.self, forKey: "k\(key)") { _ in "loaded" } == "there")
      } else {
        #expect(try value(second, "k\(key)") == "there")
      }
    }
    for key in 10..<20 { #expect(try value(second, "k\(key)") == "loaded") }
    #expect(!second.cache.health.areReadsSuspended)
  }

  private func value(_ machine: Machine, _ key: String) throws -> String {
    try machine.cache.value(String.self, forKey: key) { _ in "loaded" }
  }
}
