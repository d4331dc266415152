import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct RemovalTests {
  let directory = CacheDirectory()

  enum Removal: CaseIterable {
    case all, prefix, batch, batchOfPrefix

    /// The value that remains under another prefix.
    var kept: String? {
      switch self {
      case .all: nil
      case .batch: "new"
      case .prefix, .batchOfPrefix: "kept"
      }
    }

    func happen(to cache: LMDBCache) throws {
      switch self {
      case .all: try cache.removeAll()
      case .prefix: try cache.removeAll(.prefix("a/"))
      case .batch:
        try cache.write {
          $0.removeAll()
          $0.set("new", forKey: "b/kept")
        }
      case .batchOfPrefix: try cache.write { $0.removeAll(.prefix("a/")) }
      }
    }
  }

  @Test(arguments: Removal.allCases, [true, false])
  func whatOneReaderFindsGoneNoOtherOneFinds(_ removal: Removal, _ isCommitted: Bool) throws {
    // The onlooker is notified before the memory tier.
    let tier = try LMDBCache(
      directory: directory.url, configuration: CacheDirectory.configuration(neverCommitting).withoutMemory)
    let onlooker = Onlooker()
    tier.store.observers.add(onlooker)
    let cache = try directory.open(neverCommitting)
    for index in 0..<100 { try cache.set("old", forKey: "a/\(index)") }
    try cache.set("kept", forKey: "b/kept")
    if isCommitted { try cache.flush() }
    let looks = Guarded(0)
    onlooker.didRemoveAll = {
      #expect(cache.memory.contains("a/7"))
      do {
        #expect(try tier.value(String.self, forKey: "a/7") == nil)
        #expect(try cache.value(String.self, forKey: "a/7") == nil)
        #expect(try cache.value(String.self, forKey: "b/kept") == removal.kept)
      } catch {
        Issue.record(error)
      }
      looks { $0 += 1 }
    }
    try removal.happen(to: cache)
    #expect(looks.current > 0)
    // Memory serves hits again.
    let hits = cache.statistics.memoryHits
    try cache.set("after", forKey: "a/7")
    #expect(try cache.value(String.self, forKey: "a/7") == "after")
    #expect(cache.statistics.memoryHits == hits + 1)
    tier.store.observers.remove(onlooker)
    try cache.close()
    try tier.close()
  }
}
