import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct RemovalTests {
  let directory = CacheDirectory()

  /// Removals, and the value that remains under another prefix.
  static let removals: [(kept: String?, happen: @Sendable (LMDBCache) throws -> Void)] = [
    (nil, { try $0.removeAll() }), ("kept", { try $0.removeAll(.prefix("a/")) }),
    ("kept", { try $0.write { $0.removeAll(.prefix("a/")) } }),
    (
      "new",
      {
        try $0.write {
          $0.removeAll()
          $0.set("new", forKey: "b/kept")
        }
      }
    ),
  ]

  /// In the moment between the removal on the disk and in memory.
  @Test(arguments: removals.indices, [true, false])
  func removedEntriesAreGoneForAllReaders(_ index: Int, _ isCommitted: Bool) throws {
    let (kept, happen) = Self.removals[index]
    // The onlooker is notified before the memory tier.
    let tier = try directory.openDisk(neverCommitting)
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
        #expect(try cache.value(String.self, forKey: "b/kept") == kept)
      } catch {
        Issue.record(error)
      }
      looks { $0 += 1 }
    }
    try happen(cache)
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
