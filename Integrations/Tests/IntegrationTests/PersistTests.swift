import Foundation
import Hummingbird
import LMDBCaching
import LMDBCachingHummingbird
import Testing

@Suite struct PersistTests {
  let scratch = Scratch()

  private struct Session: Codable, Equatable {
    var user: String
    var visits: [Int]
  }

  @Test func valuesComeBack() async throws {
    let persist = LMDBPersistDriver(try scratch.cache())
    #expect(try await persist.get(key: "key", as: String.self) == nil)
    try await persist.set(key: "key", value: "first")
    try await persist.set(key: "key", value: "second")
    #expect(try await persist.get(key: "key", as: String.self) == "second")
    let session = Session(user: "ada", visits: [1, 2, 3])
    try await persist.set(key: "session", value: session)
    #expect(try await persist.get(key: "session", as: Session.self) == session)
    try await persist.remove(key: "key")
    try await persist.remove(key: "key")
    #expect(try await persist.get(key: "key", as: String.self) == nil)
    try await persist.shutdown()
    let again = LMDBPersistDriver(try scratch.cache())
    #expect(try await again.get(key: "session", as: Session.self) == session)
    try await again.shutdown()
  }

  @Test func whatIsThereIsNotCreated() async throws {
    let persist = LMDBPersistDriver(try scratch.cache())
    try await persist.create(key: "key", value: "first")
    await #expect(throws: PersistError.duplicate) { try await persist.create(key: "key", value: "second") }
    #expect(try await persist.get(key: "key", as: String.self) == "first")
    try await persist.remove(key: "key")
    try await persist.create(key: "key", value: "third", expires: .zero)
    try await persist.create(key: "key", value: "fourth")
    #expect(try await persist.get(key: "key", as: String.self) == "fourth")
    try await persist.shutdown()
  }

  @Test func onlyOneCreates() async throws {
    let persist = LMDBPersistDriver(try scratch.cache())
    let created = await withTaskGroup { group in
      for number in 0..<100 {
        group.addTask { (try? await persist.create(key: "key", value: number)) != nil ? 1 : 0 }
      }
      return await group.reduce(0, +)
    }
    #expect(created == 1)
    try await persist.shutdown()
  }

  @Test func valuesExpire() async throws {
    let clock = ManualClock()
    let persist = LMDBPersistDriver(try scratch.cache { $0.clock = .manual(clock) })
    try await persist.set(key: "key", value: "value", expires: .seconds(10))
    try await persist.set(key: "other", value: "value")
    clock.advance(by: .seconds(9))
    #expect(try await persist.get(key: "key", as: String.self) == "value")
    // The expiry is kept.
    try await persist.set(key: "key", value: "new")
    #expect(try await persist.get(key: "key", as: String.self) == "new")
    clock.advance(by: .seconds(1))
    #expect(try await persist.get(key: "key", as: String.self) == nil)
    #expect(try await persist.get(key: "other", as: String.self) == "value")
    // An expired value passes no expiry on.
    try await persist.set(key: "key", value: "again")
    clock.advance(by: .seconds(1_000_000))
    #expect(try await persist.get(key: "key", as: String.self) == "again")
    try await persist.shutdown()
  }

  @Test func theTimeThatIsLeft() async throws {
    let persist = LMDBPersistDriver(try scratch.cache())
    try await persist.set(key: "key", value: "value", expires: .seconds(36_000))
    try await persist.set(key: "other", value: "value")
    let found = try #require(try await persist.getWithTTL(key: "key", as: String.self))
    let left = try #require(found.ttl)
    #expect(found.object == "value" && left > .seconds(18_000) && left <= .seconds(36_000))
    let other = try #require(try await persist.getWithTTL(key: "other", as: String.self))
    #expect(other.ttl == nil)
    #expect(try await persist.getWithTTL(key: "none", as: String.self) == nil)
    try await persist.shutdown()
  }

  @Test func anotherTypeIsAnError() async throws {
    let persist = LMDBPersistDriver(try scratch.cache())
    try await persist.set(key: "key", value: Session(user: "ada", visits: []))
    await #expect(throws: PersistError.invalidConversion) { try await persist.get(key: "key", as: String.self) }
    await #expect(throws: PersistError.invalidConversion) { try await persist.getWithTTL(key: "key", as: Int.self) }
    #expect(try await persist.get(key: "key", as: Session.self)?.user == "ada")
    try await persist.shutdown()
  }

  @Test func aPrefixKeepsDriversApart() async throws {
    let cache = try scratch.cache()
    let first = LMDBPersistDriver(cache, prefix: "first:", closesCache: false)
    let second = LMDBPersistDriver(cache, prefix: "second:", closesCache: false)
    try await first.set(key: "key", value: 1)
    #expect(try await second.get(key: "key", as: Int.self) == nil)
    try await second.create(key: "key", value: 2)
    try await first.remove(key: "key")
    #expect(try await second.get(key: "key", as: Int.self) == 2)
    try await first.shutdown()
    #expect(try cache.value(Int.self, forKey: "second:key") == 2)
    try await cache.close()
    await #expect(throws: CacheError.self) { try await second.set(key: "key", value: 3) }
  }

  @Test func aServerKeepsItsValues() async throws {
    let cache = try scratch.cache()
    let persist = LMDBPersistDriver(cache)
    let router = Router()
    router.put("/:key") { request, context -> HTTPResponse.Status in
      let body = try await request.body.collect(upTo: 1_000)
      try await persist.set(key: context.parameters.require("key"), value: String(buffer: body))
      return .ok
    }
    router.get("/:key") { _, context in
      try await persist.get(key: context.parameters.require("key"), as: String.self)
    }
    try await LiveServer.with(router, services: [persist]) { server in
      let answer = try await server.send("PUT", "/a", "text")
      #expect(answer.status == 200)
      #expect(try await server.send("GET", "/a").text == "text")
      #expect(try await server.send("GET", "/b").status == 204)
    }
    #expect(throws: CacheError.self) { try cache.set(1, forKey: "key") }
    let again = try scratch.cache()
    #expect(try again.value(String.self, forKey: "a") == "text")
    try await again.close()
  }

  // MARK: Other processes

  /// Runs it to its end and returns its output.
  private func process(_ words: String...) throws -> Process {
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: own).deletingLastPathComponent()
      .appendingPathComponent("PersistTestProcess")
    process.arguments = [scratch.url.path] + words
    process.standardOutput = Pipe()
    try process.run()
    return process
  }

  private func output(_ process: Process) throws -> String {
    let data = try (process.standardOutput as? Pipe)?.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
  }

  @Test func processesShareTheValues() async throws {
    let persist = LMDBPersistDriver(try scratch.cache())
    try await persist.set(key: "key", value: "here")
    _ = try await persist.get(key: "key", as: String.self)
    #expect(try output(process("create", "key", "there")) == "duplicate")
    #expect(try output(process("create", "new", "there")) == "created")
    #expect(try await persist.get(key: "new", as: String.self) == "there")
    await #expect(throws: PersistError.duplicate) { try await persist.create(key: "new", value: "here") }
    _ = try output(process("set", "key", "there"))
    #expect(try await persist.get(key: "key", as: String.self) == "there")
    _ = try output(process("remove", "key"))
    #expect(try await persist.get(key: "key", as: String.self) == nil)
    try await persist.shutdown()
  }

  @Test func onlyOneProcessCreates() async throws {
    let persist = LMDBPersistDriver(try scratch.cache())
    let processes = try (0..<6).map { try process("create", "key", "\($0)") }
    let outputs = try processes.map(output)
    #expect(outputs.sorted() == ["created"] + Array(repeating: "duplicate", count: 5))
    let winner = try #require(outputs.firstIndex(of: "created"))
    #expect(try await persist.get(key: "key", as: String.self) == "\(winner)")
    try await persist.shutdown()
  }
}
