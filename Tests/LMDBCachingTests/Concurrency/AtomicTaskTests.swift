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
    #expect(try cache.set(7, forKey: "a", tags: ["t"], if: .absent))
    #expect(try await cache.update(Int.self, forKey: "a") { $0 = ($0 ?? 0) * 2 } == 14)
    await #expect(throws: Failure.self) { try await cache.update(Int.self, forKey: "a") { _ in throw Failure() } }
    #expect(try cache.increment(forKey: "b") == 1)
    #expect(try cache.count == 2)
    try await cache.removeAll(.tags(["t", "u"]))
    #expect(try cache.value(Int.self, forKey: "a") == nil)
    try await cache.write(waitsForCommit: true) {
      $0.set("committed", forKey: "c", expires: .after(.seconds(86_400)), tags: ["t"])
    }
    if let child { #expect(child.run("get c") == "committed") }
    let expiration = try #require(try cache.entry(forKey: "c")?.expiration)
    try cache.set("again", forKey: "c", expires: .unchanged)
    try await cache.write(waitsForCommit: true) { _ in }
    #expect(try cache.entry(forKey: "c")?.expiration == expiration)
    if let child { #expect(child.run("get c") == "again") }
    #expect(try cache.totalCost > 0)
    #expect(try cache.disk.size > 0)
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
        switch number % 2 {
        case 0: try await cache.update(Int.self, forKey: "n") { $0 = ($0 ?? 0) + 1 }
        default: try await cache.write(waitsForCommit: true) { $0.set(number, forKey: "set\(number)") }
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
    #expect(try cache.value(Int.self, forKey: "n") == 32)
    try await cache.close()
  }

  @Test func whatCannotBeCommittedIsAnError() async throws {
    let cache = try directory.open()
    let session = FaultInjection.begin(.directory(directory.path), [.init(.txnCommit, returns: ENOSPC, count: .max)])
    #expect(
      await errorCode { try await cache.write(waitsForCommit: true) { $0.set(1, forKey: "key") } } == .notCommitted)
    FaultInjection.end(session)
    #expect(eventually { cache.health.isHealthy })
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    try await cache.close()
    #expect(await errorCode { try await cache.write(waitsForCommit: true) { $0.set(1, forKey: "key") } } == .closed)
    #expect(errorCode { try cache.increment(forKey: "key") } == .closed)
  }

  @Test func anOpeningThatFailsIsItsError() async throws {
    let wrong = directory.url("file")
    directory.write(Data("text".utf8), to: "file")
    #expect(await errorCode { try await LMDBCache.open(directory: wrong) } == .invalidDirectory)
    #expect(await errorCode { try await LMDBCache.open(directory: wrong) } == .invalidDirectory)
    #expect(await errorCode { try await LMDBCache.open(name: "a/b", in: .data) } == .invalidArgument)
  }
}
