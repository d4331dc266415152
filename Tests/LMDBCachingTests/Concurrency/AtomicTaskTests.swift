import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// The `async` calls that wait for a commit or a closure must not block a pool thread.
@Suite(.timeLimit(.minutes(30))) struct AtomicTaskTests {
  let directory = CacheDirectory()

  struct Failure: Error {}

  @Test(arguments: [false, true]) func theyDoWhatTheFormsForThreadsDo(_ isShared: Bool) async throws {
    let cache = try await LMDBCache.open(directory: directory.url, configuration: CacheDirectory.configuration())
    let child = isShared ? try cacheProcess() : nil
    if let child { #expect(child.run("open \(directory.path)") == "ok") }
    #expect(try cache.setValueIfAbsent(7, forKey: "a", tags: ["t"]))
    #expect(try await cache.update(Int.self, forKey: "a") { $0 = ($0 ?? 0) * 2 } == 14)
    await #expect(throws: Failure.self) { try await cache.update(Int.self, forKey: "a") { _ in throw Failure() } }
    #expect(try cache.increment(forKey: "b") == 1)
    #expect(try await cache.entryCount() == 2)
    try await cache.removeAll(taggedWithAnyOf: ["t", "u"])
    #expect(try cache.value(Int.self, forKey: "a") == nil)
    try await cache.set("committed", forKey: "c", expires: .after(.seconds(86_400)), tags: ["t"], waitsForCommit: true)
    if let child { #expect(child.run("get c") == "committed") }
    let expiration = try #require(try cache.entry(forKey: "c")?.expiration)
    try await cache.set("again", forKey: "c", expires: .unchanged, waitsForCommit: true)
    #expect(try cache.entry(forKey: "c")?.expiration == expiration)
    if let child { #expect(child.run("get c") == "again") }
    try await cache.set("soon", forKey: "d", waitsForCommit: false)
    #expect(try cache.value(String.self, forKey: "d") == "soon")
    #expect(try await cache.totalEntryCost() > 0)
    #expect(try await cache.diskCache.bytesOnDisk() > 0)
    child?.end()
    try await cache.close()
  }

  @Test(arguments: [false, true]) func theDiskTierHasThemToo(_ isShared: Bool) async throws {
    let cache = try await DiskCache.open(directory: directory.url, configuration: CacheDirectory.configuration())
    let child = isShared ? try cacheProcess() : nil
    if let child { #expect(child.run("open \(directory.path)") == "ok") }
    #expect(try cache.setValueIfAbsent(1, forKey: "a", tags: ["t"]))
    #expect(try cache.increment(forKey: "a", by: 4) == 5)
    #expect(try cache.exchange(7, forKey: "a") == 5)
    #expect(try await cache.update(Int.self, forKey: "a") { $0 = ($0 ?? 0) * 2 } == 14)
    #expect(try cache.touch(forKey: "a", expires: .after(.seconds(86_400))))
    let entry = try #require(try cache.entry(forKey: "a"))
    #expect(try cache.set(20, forKey: "a", ifVersion: entry.version, tags: ["t"]))
    try await cache.removeAll(taggedWithAnyOf: ["t"])
    #expect(try cache.removeValue(Int.self, forKey: "a") == nil)
    #expect(try cache.increment(forKey: "a") == 1)
    #expect(try cache.removeValue(Int.self, forKey: "a") == 1)
    try await cache.set("committed", forKey: "c", waitsForCommit: true)
    if let child { #expect(child.run("get c") == "committed") }
    #expect(try await cache.entryCount() == 1)
    #expect(try await cache.bytesOnDisk() > 0)
    #expect(try await cache.totalEntryCost() > 0)
    child?.end()
    try await cache.close()
  }

  @Test func manyTasksAndAnotherProcessCountRightly() async throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<50 { try cache.increment(forKey: "n") } }
      }
      try await group.waitForAll()
    }
    #expect(child.run("increment n 1") == "401")
    child.end()
    try await cache.close()
  }

  /// More operations than pool threads wait for the writer, and the pool stays free.
  @Test func theyHoldNoThreadOfThePool() async throws {
    let cache = try directory.open { $0.durability = .full }
    let held = HeldWriter(cache.store)
    let done = Guarded(0)
    let waiting = (0..<64).map { number in
      Task {
        switch number % 3 {
        case 0: try await cache.update(Int.self, forKey: "n") { $0 = ($0 ?? 0) + 1 }
        case 1: try await cache.set(number, forKey: "set\(number)", waitsForCommit: true)
        default: _ = try await cache.entryCount()
        }
        done { $0 += 1 }
      }
    }
    let others = await withTaskGroup(of: Int.self) { group in
      for number in 0..<100 {
        group.addTask {
          await Task.yield(); return number
        }
      }
      return await group.reduce(0, +)
    }
    #expect(others == 4_950)
    #expect(done.current < 64)
    held.release()
    for task in waiting { try await task.value }
    #expect(try cache.value(Int.self, forKey: "n") == 22)
    try await cache.close()
  }

  @Test func whatCannotBeCommittedIsAnError() async throws {
    let cache = try directory.open()
    let session = FaultInjection.begin(.directory(directory.path), [.init(.txnCommit, returns: ENOSPC, count: .max)])
    #expect(await errorCode { try await cache.set(1, forKey: "key", waitsForCommit: true) } == .notCommitted)
    FaultInjection.end(session)
    #expect(eventually { cache.health.isHealthy })
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try await cache.close()
    #expect(await errorCode { try await cache.set(1, forKey: "key", waitsForCommit: true) } == .closed)
    #expect(errorCode { try cache.increment(forKey: "key") } == .closed)
  }

  @Test func anOpeningThatFailsIsItsError() async throws {
    let wrong = directory.url("file")
    directory.write(Data("text".utf8), to: "file")
    #expect(await errorCode { try await LMDBCache.open(directory: wrong) } == .invalidDirectory)
    #expect(await errorCode { try await DiskCache.open(directory: wrong) } == .invalidDirectory)
    #expect(await errorCode { try await LMDBCache.open(name: "a/b", in: .data) } == .invalidArgument)
  }
}
