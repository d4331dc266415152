import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct CacheEntriesTests {
  let directory = CacheDirectory()

  @Test func listsSurviveConcurrentChanges() async throws {
    let cache = try directory.open()
    let names = (0..<500).map { String(format: "kept/%04d", $0) }
    for name in names { try cache.set([(key: name, value: 1), (key: name + "/", value: 1)]) }
    var random = SeededRandom(1)
    var kept: [String] = []
    var iterator = cache.entries(pageSize: 10).makeAsyncIterator()
    while let entry = try await iterator.next() {
      if !entry.key.hasSuffix("/") {
        kept.append(entry.key)
        // Includes the key at which the page ends.
        if kept.count.isMultiple(of: 5) {
          let name = names[random.below(500)]
          try cache.removeValue(forKey: name + "/")
          try cache.set(1, forKey: name + "/new/")
          try await cache.flush()
        }
      } else {
        try cache.removeValue(forKey: entry.key)
      }
    }
    #expect(kept == names)
    try await cache.close()
  }

  @Test func itEndsWithTheCacheAndItsTask() async throws {
    let cache = try directory.open()
    for number in 0..<10 { try cache.set(number, forKey: "\(number)") }
    var iterator = cache.entries(pageSize: 4).makeAsyncIterator()
    for _ in 0..<4 { #expect(try await iterator.next() != nil) }
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await cache.entries(pageSize: 4).reduce(0) { count, _ in count + 1 }
    }
    task.cancel()
    #expect(try await task.value == 0)
    try await cache.close()
    await #expect(throws: CacheError.self) { try await iterator.next() }
  }
}
