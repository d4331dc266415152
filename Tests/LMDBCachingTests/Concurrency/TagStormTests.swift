import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct TagStormTests {
  /// An entry found removed stays removed for every thread, and later writes are found.
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
            // Only this thread writes these entries.
            try cache.removeAll(.tag("thread \(thread)"))
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
            _ = try cache.value(Int.self, forKey: "\(Int.random(in: 0..<keys, using: &random))")
          }
        }
      } catch {
        Issue.record(error)
      }
    }
    try cache.removeAll(.tag("all"))
    for key in 0..<keys { #expect(try cache.value(Int.self, forKey: "\(key)") == nil) }
    try cache.close()
  }

  enum Change: CaseIterable, Sendable {
    case update, increment, exchange
  }

  /// Memory may evict the entry at any point of a change, even between two look-ups.
  @Test(arguments: Change.allCases) func aChangeKeepsTheTagsOfWhatMemoryDrops(_ change: Change) throws {
    let directory = CacheDirectory()
    let cache = try directory.open()
    try cache.set(0, forKey: "key", tags: ["tag"])
    let isDone = Guarded(false)
    concurrently(2) { thread in
      if thread == 1 {
        while !isDone.current { cache.memory.removeAll() }
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
    // A lost tag would not come back.
    #expect(try cache.entry(forKey: "key")?.isTagged("tag") == true)
    try cache.removeAll(.tag("tag"))
    #expect(try cache.value(Int.self, forKey: "key") == nil)
    try cache.close()
  }
}
