import Dispatch
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Loads of a key that another process loads, writes or removes at the same time.
@Suite(.serialized) struct LoadProcessTests {
  let directory = CacheDirectory()

  private func process() throws -> ChildProcess {
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    return child
  }

  @Test func ofAllProcessesOneLoads() async throws {
    let cache = try directory.open()
    let children = try (0..<3).map { _ in try process() }
    for child in children { child.send("loads k 400 8") }
    let failures = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask {
          var failures = 0
          for index in 0..<400 {
            let key = "k\((index * 13 + task) % 400)"
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
    let loads = children.map { Int($0.readLine() ?? "") ?? -1 }
    #expect(loads.reduce(cache.statistics.loads, +) == 400, "\(loads)")
    for child in children { child.end() }
    try await cache.close()
  }

  // MARK: How the other process's load ends

  /// The end of the other process's load, for which this one waits, and the value found here.
  enum End: CaseIterable, Sendable {
    case value, death, suspension

    var found: String { self == .value ? "theirs" : "own" }
  }

  @Test(arguments: End.allCases) func theOtherProcesssLoad(_ end: End) throws {
    let limit = end == .suspension ? Duration.milliseconds(100) : .seconds(3_600)
    let cache = try directory.open { $0.loadWaitLimit = limit }
    let child = try process()
    child.send("slowload key")
    #expect(child.readLine() == "loading")
    if end == .suspension { child.suspend() }
    let found = Guarded<String?>(nil)
    let isDone = finishes {
      let group = DispatchGroup()
      inBackground(group) { found { $0 = try? cache.value(String.self, forKey: "key") { _ in "own" } } }
      #expect(eventually { cache.statistics.misses == 1 })
      switch end {
      case .value: child.send("theirs")
      case .death: child.kill()
      case .suspension: break
      }
      group.wait()
    }
    #expect(isDone)
    #expect(found.current == end.found)
    if end == .suspension {
      // A load does not see writes that are uncommitted when it ends.
      try cache.flush()
      child.resume()
      child.send("theirs")
    }
    if end != .death { #expect(child.readLine() == "theirs") }
    // A write during the load stays.
    #expect(try cache.value(String.self, forKey: "key") == end.found)
    if end != .death { child.end() }
    try cache.close()
  }

  @Test func aFailureReachesAllWaiters() throws {
    let cache = try directory.open { $0.loadWaitLimit = .seconds(3_600) }
    let child = try process()
    let code = Guarded<CacheError.Code?>(nil)
    // A caller that starts after the failure asks the source. The start of a wait is not visible, so this retries.
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
    // A later caller asks the source.
    #expect(try cache.value(String.self, forKey: "key1") { _ in "own" } == "own")
    child.end()
    try cache.close()
  }

  // MARK: Writes of another process

  /// A change while an absent key is loaded, and the value found afterwards.
  static let changes: [(String, String?)] = [
    ("removeprefix user:", nil), ("removetag users", nil), ("removeall", nil), ("set user:1 new", "new"),
    ("set user:2 new", "old"), ("removeprefix user:11", "old"), ("removetag teams", "old"),
  ]

  @Test(arguments: changes) func aWriteOfAnotherProcessWins(_ line: String, _ found: String?) throws {
    let cache = try directory.open()
    let child = try process()
    let value = try cache.value(String.self, forKey: "user:1") { context in
      context.tags = ["users"]
      #expect(child.run(line) == "ok")
      #expect(child.run("flush") == "ok")
      return "old"
    }
    #expect(value == "old")
    #expect(try cache.value(String.self, forKey: "user:1") == found)
    child.end()
    try cache.close()
  }
}
