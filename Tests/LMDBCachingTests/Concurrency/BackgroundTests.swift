import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct BackgroundTests {
  let directory = CacheDirectory()

  @Test func writesAreMadeInTheirOrder() throws {
    let cache = try directory.open()
    for round in 0..<20 {
      let seen = Guarded<[Int?]>([])
      let group = DispatchGroup()
      for number in 0..<50 {
        group.enter()
        // Different sizes take different times to archive.
        let count = number % 2 == 0 ? 2_000 : 1
        let values = [NSNumber(value: number)] + (0..<count).map { NSNumber(value: $0) }
        cache.setObject(NSArray(array: values), forKey: "key") { error in
          if let error { Issue.record("\(error)") }
          group.leave()
        }
        if number % 10 == 9 {
          group.enter()
          cache.object(forKey: "key") { _, result in
            let first = (try? result.get() as? NSArray)?.firstObject as? NSNumber
            seen { $0.append(first?.intValue) }
            group.leave()
          }
        }
        if number == 24 {
          group.enter()
          cache.removeObject(forKey: "key") { _, _ in group.leave() }
        }
      }
      #expect(group.wait(timeout: .now() + .seconds(60)) == .success)
      let last = (try cache.object(forKey: "key") as? NSArray)?.firstObject as? NSNumber
      #expect(last?.intValue == 49, "round \(round)")
      // Reads run concurrently and complete in any order, but none sees less than was written before it.
      let numbers = seen.current.map { $0 ?? -1 }.sorted()
      #expect(numbers == [9, 19, 29, 39, 49])
    }
    try cache.close()
  }

  @Test func aReadAfterARemovalFindsNothing() throws {
    let cache = try directory.open()
    for _ in 0..<100 {
      let found = Guarded<[Bool]>([])
      let group = DispatchGroup()
      for _ in 0..<2 { group.enter() }
      cache.setObject(NSString(string: "text"), forKey: "key") { _ in }
      cache.containsObject(forKey: "key") { _, isThere in
        found { $0.append(isThere) }
        group.leave()
      }
      #expect(group.wait(timeout: .now()) == .timedOut)
      cache.removeAllObjects { _ in }
      cache.containsObject(forKey: "key") { _, isThere in
        found { $0.append(!isThere) }
        group.leave()
      }
      #expect(group.wait(timeout: .now() + .seconds(60)) == .success)
      #expect(found.current == [true, true])
    }
    try cache.close()
  }

  @Test func completionsMayWait() throws {
    let cache = try directory.open()
    let isDone = DispatchSemaphore(value: 0)
    cache.setObject(NSString(string: "one"), forKey: "key") { _ in
      let inner = DispatchSemaphore(value: 0)
      cache.setObject(NSString(string: "two"), forKey: "key") { _ in inner.signal() }
      inner.wait()
      cache.removeAllObjects(progress: { _, _ in }) { _ in inner.signal() }
      inner.wait()
      isDone.signal()
    }
    #expect(isDone.wait(timeout: .now() + .seconds(60)) == .success)
    #expect(!cache.containsObject(forKey: "key"))
    try cache.close()
  }

  @Test func progressComesBeforeTheEnd() throws {
    let cache = try directory.open()
    for round in 0..<20 {
      for index in 0..<5 { try cache.set(index, forKey: "key\(index)") }
      let reports = Guarded<[String]>([])
      let isDone = DispatchSemaphore(value: 0)
      cache.removeAllObjects(progress: { removed, total in reports { $0.append("\(removed)/\(total)") } }) { error in
        reports { $0.append(error.map { "\($0)" } ?? "end") }
        isDone.signal()
      }
      #expect(isDone.wait(timeout: .now() + .seconds(60)) == .success)
      #expect(reports.current == ["0/5", "5/5", "end"], "round \(round)")
    }
    try cache.close()
  }

  // MARK: For tasks, and what takes long

  @Test func whatWaitsForTheDiskHoldsNoThread() async throws {
    let cache = try directory.open()
    try cache.set(1, forKey: "key")
    let held = HeldWriter(cache.store)
    let (isDone, count) = (Guarded(0), ProcessInfo.processInfo.activeProcessorCount * 8)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        group.addTask {
          switch number % 8 {
          case 0: try await cache.flush()
          case 1: try await cache.flush()
          case 2: try await cache.trim(to: .count(10))
          case 3: try await cache.disk.trim(to: .limits)
          case 4: try await cache.write(waitsForCommit: true) { _ in }
          case 5: #expect(try await cache.read { try $0.value(Int.self, forKey: "key") } == 1)
          case 6: #expect(try await cache.entries(pageSize: 1).reduce(0) { number, _ in number + 1 } == 1)
          default: try await cache.disk.trim(to: .age(.seconds(1_000)))
          }
          isDone { $0 += 1 }
        }
      }
      // Uses the same pool, so it would stall if the waits held threads.
      for _ in 0..<100 { await Task.detached { await Task.yield() }.value }
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
      _ = eventually { isReleased.current }
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
      try cache.setObject(NSNumber(value: 1), forKey: "key")
      #expect(try cache.count == 1)
      #expect(try cache.values(Int.self, forKeys: ["key"]).isEmpty == false)
      #expect(try await cache.read { try $0.value(Int.self, forKey: "key") } == 1)
      isReleased { $0 = true }
      try await group.waitForAll()
    }
    #expect(try cache.count == 1 + count / 2)
    // Earlier calls have finished.
    async let update = cache.update(Int.self, forKey: "last") { $0 = 1 }
    #expect(try await update == 1)
    try await cache.close()
  }

  @Test func whatTakesLongHoldsUpNothing() async throws {
    let cache = try directory.open()
    cache.setObject(NSString(string: "text"), forKey: "key") { _ in }
    try await cache.flush()
    #expect(cache.containsObject(forKey: "key"))
    let held = HeldWriter(cache.store)
    let isTrimmed = Guarded(false)
    let trim = Task {
      try await cache.disk.trim(to: .count(5))
      isTrimmed { $0 = true }
    }
    try cache.setObject(NSString(string: "other"), forKey: "key")
    #expect(try cache.object(forKey: "key") as? NSString == "other")
    #expect(!isTrimmed.current)
    held.release()
    try await trim.value
    try await cache.close()
    let isRemoved = Guarded<CacheError??>(nil)
    cache.removeAllObjects { error in isRemoved { $0 = error } }
    #expect(try await becomesTrue { isRemoved.current??.code == .closed })
  }

  @Test func tasksWriteBatchesInTheirOrder() async throws {
    let cache = try directory.open()
    for number in 0..<50 {
      cache.setObject(NSNumber(value: number), forKey: "number") { error in #expect(error == nil) }
      try await cache.write { $0.set("\(number)", forKey: "text") }
      #expect(try cache.value(Int.self, forKey: "number") == number)
      #expect(try cache.value(String.self, forKey: "text") == "\(number)")
    }
    try cache.set(1, forKey: "tagged", tags: ["tag"])
    try await cache.removeAll(.tag("tag"))
    try await cache.removeAll(.prefix("te"))
    #expect(try cache.entries().map(\.key) == ["number"])
    cache.setObject(NSNumber(value: -1), forKey: "number") { error in #expect(error == nil) }
    try await cache.close()
    let again = try directory.open()
    #expect(try again.value(Int.self, forKey: "number") == -1)
    await #expect(throws: CacheError.self) { try await cache.flush() }
    try await again.removeAll()
    #expect(try again.count == 0)
    try await again.close()
  }
}
