import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite(.serialized) struct LoadProcessTests {
  let directory = CacheDirectory()

  @Test func ofAllProcessesOneLoads() throws {
    let children = try (0..<4).map { _ in try cacheProcess() }
    for child in children { #expect(child.run("open \(directory.path)") == "ok") }
    for child in children { child.send("loads k 1000 16") }
    let loads = children.map { Int($0.readLine() ?? "") ?? -1 }
    #expect(loads.reduce(0, +) == 1_000, "\(loads)")
    for child in children { child.end() }
  }

  @Test func ofAllTasksOneLoads() async throws {
    let cache = try directory.open()
    let failures = await withTaskGroup(of: Int.self) { group in
      for task in 0..<64 {
        group.addTask {
          var failures = 0
          for index in 0..<1_000 {
            let key = "k\((index * 7_919 + task * 31) % 1_000)"
            let value = try? await cache.value(String.self, forKey: key) { _ async throws -> String in
              await Task.yield()
              return key
            }
            if value != key { failures += 1 }
          }
          return failures
        }
      }
      return await group.reduce(0, +)
    }
    #expect(failures == 0)
    #expect(cache.statistics.loads == 1_000)
    try await cache.close()
  }

  @Test func tasksWaitForOtherProcessesToo() async throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    child.send("loads k 100 2")
    let own = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask {
          for index in 0..<100 {
            let key = "k\((index * 13 + task) % 100)"
            let value = try? await cache.value(String.self, forKey: key) { _ async throws -> String in
              try await Task.sleep(for: .microseconds(200))
              return key
            }
            if value != key { return -1_000 }
          }
          return 0
        }
      }
      return await group.reduce(0, +) + cache.statistics.loads
    }
    #expect(Int(child.readLine() ?? "").map { $0 + own } == 100)
    child.end()
    try await cache.close()
  }

  /// The value found for a key that another process loads while it runs `body`.
  private func found(_ cache: LMDBCache, _ child: ChildProcess, _ body: @escaping @Sendable () -> Void) -> String? {
    #expect(child.run("open \(directory.path)") == "ok")
    child.send("slowload key")
    #expect(child.readLine() == "loading")
    let found = Guarded<String?>(nil)
    let isDone = finishes {
      let group = DispatchGroup()
      inBackground(group) { found { $0 = try? cache.value(String.self, forKey: "key") { _ in "own" } } }
      #expect(eventually { cache.statistics.misses == 1 })
      body()
      group.wait()
    }
    #expect(isDone)
    return found.current
  }

  @Test func aLoaderThatDiesFreesTheKey() throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let child = try cacheProcess()
    #expect(found(cache, child) { child.kill() } == "own")
    try cache.close()
  }

  @Test func whatItLoadedIsTheOthers() throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let child = try cacheProcess()
    #expect(found(cache, child) { child.send("theirs") } == "theirs")
    #expect(child.readLine() == "theirs")
    child.end()
    try cache.close()
  }

  @Test func aFailureIsThatOfAllThatWait() throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    let code = Guarded<CacheError.Code?>(nil)
    // A caller that comes after the failure asks the source, and nothing shows when it began to wait.
    for round in 1...100 where code.current == nil {
      let key = "key\(round)"
      child.send("slowload \(key)")
      #expect(child.readLine() == "loading")
      let group = DispatchGroup()
      inBackground(group) {
        let found = errorCode { try cache.value(String.self, forKey: key) { _ in "own" } }
        code { $0 = found }
      }
      #expect(eventually { cache.statistics.misses == round })
      usleep(UInt32(round) * 1_000)
      child.send("fail")
      #expect(child.readLine() == "error storageFailed")
      group.wait()
    }
    #expect(code.current == .loadFailed)
    #expect(cache.statistics.failedLoads == 0)
    #expect(try cache.value(String.self, forKey: "key1") { _ in "own" } == "own", "A later caller asks the source.")
    child.end()
    try cache.close()
  }

  @Test func aLoaderThatIsSuspendedIsNotWaitedFor() throws {
    let cache = try directory.open { $0.loadWaitLimit = .milliseconds(100) }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    child.send("slowload key")
    #expect(child.readLine() == "loading")
    child.suspend()
    #expect(try cache.value(String.self, forKey: "key") { _ in "own" } == "own")
    // A load does not see writes that are uncommitted when it ends.
    try cache.flush()
    child.resume()
    child.send("theirs")
    #expect(child.readLine() == "theirs")
    // The concurrent write stays.
    #expect(try cache.value(String.self, forKey: "key") == "own")
    child.end()
    try cache.close()
  }

  /// Changes by another process while an absent key is loaded.
  enum Meanwhile: CaseIterable, Sendable {
    case removalByPrefix, removalByTag, removalOfAll, write
    case writeOfAnotherKey, removalByAnotherPrefix, removalByAnotherTag

    var line: String {
      switch self {
      case .removalByPrefix: "removeprefix user:"
      case .removalByTag: "removetag users"
      case .removalOfAll: "removeall"
      case .write: "set user:1 new"
      case .writeOfAnotherKey: "set user:2 new"
      case .removalByAnotherPrefix: "removeprefix user:11"
      case .removalByAnotherTag: "removetag teams"
      }
    }

    /// The value found afterwards.
    var found: String? {
      switch self {
      case .removalByPrefix, .removalByTag, .removalOfAll: nil
      case .write: "new"
      case .writeOfAnotherKey, .removalByAnotherPrefix, .removalByAnotherTag: "old"
      }
    }
  }

  @Test(arguments: Meanwhile.allCases) func aWriteOfAnotherProcessWins(_ meanwhile: Meanwhile) throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    let value = try cache.value(String.self, forKey: "user:1") { context in
      context.tags = ["users"]
      #expect(child.run(meanwhile.line) == "ok")
      #expect(child.run("flush") == "ok")
      return "old"
    }
    #expect(value == "old")
    #expect(try cache.value(String.self, forKey: "user:1") == meanwhile.found)
    child.end()
    try cache.close()
  }

  @Test func aRemovalOfAProcessThatDiesWins() throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=600000") == "ok")
    let value = try cache.value(String.self, forKey: "user:1") { _ throws -> String in
      let position = cache.store.foreignPosition
      #expect(child.run("removeprefix user:") == "ok")
      child.kill()
      #expect(
        try eventually {
          try cache.store.database.removalMarks().prefixes.last != 0 && cache.store.foreignPosition != position
        })
      return "old"
    }
    #expect(value == "old")
    #expect(try cache.value(String.self, forKey: "user:1") == nil)
    try cache.close()
  }
}
