import TestSupport
import Testing

@testable import LMDBCaching

/// Removals by tag, while other threads read and write.
@Suite struct TagStormTests {
  /// No thread finds what another one has found gone, and what was stored after a removal is found.
  @Test func whatIsGoneIsGoneForAll() throws {
    let directory = CacheDirectory()
    let cache = try directory.open { $0.memory.countLimit = 40 }
    let keys = 64
    concurrently(4) { thread in
      do {
        var random = SeededRandom(UInt64(thread + 1))
        var last: [Int: Int] = [:]
        for number in 1...400 {
          let key = thread * 16 + Int.random(in: 0..<16, using: &random)
          switch Int.random(in: 0..<10, using: &random) {
          case 0:
            // Everything of this thread, of which nobody else writes anything.
            try cache.removeAll(taggedWith: "thread \(thread)")
            for key in (thread * 16)..<(thread * 16 + 16) {
              last[key] = nil
              let value = try cache.value(Int.self, forKey: "\(key)")
              #expect(value == nil)
            }
          case 1..<5:
            try cache.set(number, forKey: "\(key)", tags: ["thread \(thread)", "all"])
            last[key] = number
          default:
            let value = try cache.value(Int.self, forKey: "\(key)")
            #expect(value == last[key])
            // Another thread's.
            _ = try cache.value(Int.self, forKey: "\(Int.random(in: 0..<keys, using: &random))")
          }
        }
      } catch {
        Issue.record(error)
      }
    }
    try cache.removeAll(taggedWith: "all")
    for key in 0..<keys { #expect(try cache.value(Int.self, forKey: "\(key)") == nil) }
    try cache.close()
  }

  enum Change: CaseIterable, Sendable {
    case update, increment, exchange
  }

  /// Memory may drop the entry at any moment of a change, also between two looks at it.
  @Test(arguments: Change.allCases) func aChangeKeepsTheTagsOfWhatMemoryDrops(_ change: Change) throws {
    let directory = CacheDirectory()
    let cache = try directory.open()
    try cache.set(0, forKey: "key", tags: ["tag"])
    let isDone = Guarded(false)
    concurrently(2) { thread in
      if thread == 1 {
        while !isDone.current { cache.memoryCache.removeAll() }
        return
      }
      defer { isDone { $0 = true } }
      do {
        for number in 1...5_000 {
          switch change {
          case .update: try cache.update(Int.self, forKey: "key") { $0 = number }
          case .increment: try cache.increment(forKey: "key")
          case .exchange: try cache.exchange(number, forKey: "key")
          }
        }
      } catch {
        Issue.record(error)
      }
    }
    // Once lost they do not come back.
    #expect(try cache.entry(forKey: "key")?.isTagged("tag") == true)
    try cache.removeAll(taggedWith: "tag")
    #expect(try cache.value(Int.self, forKey: "key") == nil)
    try cache.close()
  }
}
