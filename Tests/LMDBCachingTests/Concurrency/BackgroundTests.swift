import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// The functions with completions, and those for tasks.
@Suite struct BackgroundTests {
  let directory = CacheDirectory()

  /// Writes that one thread makes are made in their order, and its reads see them.
  @Test func writesAreMadeInTheirOrder() throws {
    let cache = try directory.open()
    for round in 0..<20 {
      let seen = Guarded<[Int?]>([])
      let group = DispatchGroup()
      for number in 0..<50 {
        group.enter()
        // Objects of different sizes take different times to archive.
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
      // Reads run at the same time as others: in whatever order they tell, none has seen less than was written before.
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

  /// A completion that waits for another call holds nothing up.
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

  @Test func tasksWriteInTheirOrderToo() async throws {
    let cache = try directory.open()
    for number in 0..<200 {
      cache.setObject(NSNumber(value: -1), forKey: "key") { _ in }
      try await cache.setObject(NSNumber(value: number), forKey: "key")
      #expect(try await cache.object(forKey: "key") as? NSNumber == NSNumber(value: number))
    }
    try cache.close()
    #expect(await errorCode { try await cache.setObject(NSNumber(value: 1), forKey: "key") } == .closed)
  }
}
