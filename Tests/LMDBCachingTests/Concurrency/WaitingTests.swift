import Dispatch
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Calls with a completion handler and calls of tasks keep their order, and hold no thread while they wait.
@Suite(.timeLimit(.minutes(30))) struct WaitingTests {
  let directory = CacheDirectory()

  // MARK: Completion handlers

  @Test func writesAreMadeInTheirOrder() throws {
    let cache = try directory.open()
    for round in 0..<20 {
      let seen = Guarded<[Int]>([])
      let group = DispatchGroup()
      for number in 0..<50 {
        group.enter()
        // Different sizes take different times to archive.
        let values = [NSNumber(value: number)] + (0..<(number % 2 == 0 ? 2_000 : 1)).map { NSNumber(value: $0) }
        cache.setObject(NSArray(array: values), forKey: "key") { error in
          if let error { Issue.record("\(error)") }
          group.leave()
        }
        if number == 24 { cache.removeObject(forKey: "key") { _, _ in } }
        guard number % 10 == 9 else { continue }
        group.enter()
        cache.object(forKey: "key") { _, result in
          let first = (try? result.get() as? NSArray)?.firstObject as? NSNumber
          seen { $0.append(first?.intValue ?? -1) }
          group.leave()
        }
      }
      #expect(group.wait(timeout: .now() + .seconds(60)) == .success)
      let last = (try cache.object(forKey: "key") as? NSArray)?.firstObject as? NSNumber
      #expect(last?.intValue == 49, "round \(round)")
      // Reads run concurrently and complete in any order, but none sees less than was written before it.
      #expect(seen.current.sorted() == [9, 19, 29, 39, 49])
    }
    try cache.close()
  }

  @Test func completionsMayWait() throws {
    let cache = try directory.open()
    let (isWritten, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    cache.setObject(NSString(string: "one"), forKey: "key") { _ in
      cache.setObject(NSString(string: "two"), forKey: "key") { _ in isWritten.signal() }
      isWritten.wait()
      cache.removeAllObjects { _ in isWritten.signal() }
      isWritten.wait()
      isDone.signal()
    }
    #expect(isDone.wait(timeout: .now() + .seconds(60)) == .success)
    #expect(!cache.containsObject(forKey: "key"))
    try cache.close()
  }

  /// A call of a task comes after the calls with a completion handler before it.
  @Test func tasksAndCompletionsHaveOneOrder() async throws {
    let cache = try directory.open()
    for number in 0..<50 {
      cache.setObject(NSNumber(value: number), forKey: "number") { error in #expect(error == nil) }
      try await cache.write { $0.set("\(number)", forKey: "text") }
      #expect(try cache.value(Int.self, forKey: "number") == number)
      #expect(try cache.value(String.self, forKey: "text") == "\(number)")
    }
    try await cache.removeAll(.prefix("te"))
    #expect(try cache.entries().map(\.key) == ["number"])
    cache.setObject(NSNumber(value: -1), forKey: "number") { error in #expect(error == nil) }
    try await cache.close()
    #expect(await errorCode { try await cache.flush() } == .closed)
    #expect(await errorCode { try await cache.write(waitsForCommit: true) { $0.set(1, forKey: "key") } } == .closed)
    let again = try await LMDBCache.open(directory: directory.url, configuration: CacheDirectory.configuration())
    #expect(try again.value(Int.self, forKey: "number") == -1)
    try await again.close()
    directory.write(Data("text".utf8), to: "file")
    #expect(await errorCode { try await LMDBCache.open(directory: directory.url("file")) } == .invalidDirectory)
  }

  // MARK: Waiting for the disk

  /// More calls than pool threads wait for the writer.
  @Test func whatWaitsForTheDiskHoldsNoThread() async throws {
    let cache = try directory.open()
    try cache.set(1, forKey: "key")
    let held = HeldWriter(cache.store)
    let (begun, isDone, count) = (Guarded(0), Guarded(0), ProcessInfo.processInfo.activeProcessorCount * 8)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        group.addTask {
          begun { $0 += 1 }
          switch number % 6 {
          case 0: try await cache.flush()
          case 1: try await cache.trim(to: .count(10))
          case 2: try await cache.disk.trim(to: .limits)
          case 3: try await cache.write(waitsForCommit: true) { _ in }
          case 4: #expect(try await cache.read { try $0.value(Int.self, forKey: "key") } == 1)
          default: try await cache.disk.trim(to: .age(.seconds(1_000)))
          }
          isDone { $0 += 1 }
        }
      }
      // This uses the same pool, so it would stall if the waits held threads.
      #expect(try await becomesTrue { begun.current == count })
      for _ in 0..<100 { await Task.detached { await Task.yield() }.value }
      #expect(try cache.value(Int.self, forKey: "key") == 1)
      #expect(isDone.current == 0)
      held.release()
      try await group.waitForAll()
    }
    #expect(isDone.current == count)
    try await cache.close()
  }

  @Test func closuresThatTakeLongHoldNothing() async throws {
    let cache = try directory.open()
    let (isReleased, begun) = (Guarded(false), Guarded(0))
    let count = ProcessInfo.processInfo.activeProcessorCount * 8
    @Sendable func wait() {
      begun { $0 += 1 }
      _ = eventually(within: .seconds(600)) { isReleased.current }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        group.addTask {
          switch number % 4 {
          case 0:
            try await cache.update(Int.self, forKey: "updated\(number)") { value in
              wait()
              value = number
            }
          case 1: try await cache.read { _ in wait() }
          case 2:
            try await cache.write { batch in
              wait()
              batch.set(number, forKey: "written\(number)")
            }
          default: await BackgroundQueue.performAside { wait() }
          }
        }
      }
      #expect(try await becomesTrue(within: .seconds(600)) { begun.current == count })
      await Task.detached { await Task.yield() }.value
      await withCheckedContinuation { continuation in DispatchQueue.global().async { continuation.resume() } }
      try await cache.flush()
      try cache.set(1, forKey: "key")
      #expect(try cache.count == 1)
      #expect(try await cache.read { try $0.value(Int.self, forKey: "key") } == 1)
      isReleased { $0 = true }
      try await group.waitForAll()
    }
    #expect(try cache.count == 1 + count / 2)
    try await cache.close()
  }
}
