import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct CacheEntriesTests {
  let directory = CacheDirectory()

  private static let keys = (0..<40).flatMap { number in
    [
      "a/\(number)", "b/\(number)", "b/" + String(repeating: "k", count: 600) + "\(number)",
      String(repeating: "é", count: 300) + "\(number)",
    ]
  }

  @Test(
    arguments: ["", "b/", "b/" + String(repeating: "k", count: 600), String(repeating: "é", count: 299), "c"],
    [-1, 1, 7, 40, 100_000])
  func everyEntryIsGivenOnce(_ prefix: String, _ pageSize: Int) async throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    for (index, key) in Self.keys.enumerated() {
      try cache.set(index, forKey: key, expires: index % 5 == 0 ? .after(.seconds(1)) : .never)
    }
    clock.advance(by: .seconds(2))
    try cache.removeValue(forKey: Self.keys[1])
    var listed: [CacheEntry] = []
    for try await entry in cache.entries(withPrefix: prefix, pageSize: pageSize) { listed.append(entry) }
    let entries = try cache.entries(withPrefix: prefix)
    #expect(listed.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) } == entries)
    #expect(entries.isEmpty == (prefix == "c"))
    // Plain keys come first, in order.
    let plain = entries.filter { $0.key.utf8.count <= DatabaseKey.maximumLength }
    #expect(Array(listed.prefix(plain.count)) == plain)
    try await cache.close()
  }

  @Test func whatChangesMeanwhileDisturbsNobody() async throws {
    let cache = try directory.open()
    for number in 0..<500 { try cache.set(number, forKey: String(format: "kept/%04d", number)) }
    for number in 0..<500 { try cache.set(number, forKey: String(format: "kept/%04d/", number)) }
    var random = SeededRandom(1)
    var kept: [String] = []
    var iterator = cache.entries(pageSize: 10).makeAsyncIterator()
    while let entry = try await iterator.next() {
      if !entry.key.hasSuffix("/") {
        kept.append(entry.key)
        // Includes the key at which the page ends.
        if kept.count.isMultiple(of: 5) {
          let number = Int.random(in: 0..<500, using: &random)
          try cache.removeValue(forKey: String(format: "kept/%04d/", number))
          try cache.set(1, forKey: String(format: "kept/%04d/new/", number))
          try await cache.flush()
        }
      } else {
        try cache.removeValue(forKey: entry.key)
      }
    }
    #expect(kept == (0..<500).map { String(format: "kept/%04d", $0) })
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
