import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// What threads see of a write that has not returned.
@Suite struct VisibilityStormTests {
  let directory = CacheDirectory()

  /// A set that has not returned may be seen or not; but who has seen it does not see the older value any more.
  @Test(arguments: [false, true]) func aSetThatIsUnderWayIsSeenByAllOnceItIsSeen(_ isRemoval: Bool) throws {
    // In this mode a set waits for its commit, which waits until it is let.
    let cache = try directory.open { $0.durability = .full }
    try cache.set(1, forKey: "key")
    #expect(try cache.value(Int.self, forKey: "key") == 1)
    let writer = HeldWriter(cache.store)
    let group = DispatchGroup()
    inBackground(group) {
      do {
        if isRemoval { try cache.removeValue(forKey: "key") } else { try cache.set(2, forKey: "key") }
      } catch { Issue.record(error) }
    }
    let new = isRemoval ? nil : 2
    #expect(try eventually { try cache.diskCache.value(Int.self, forKey: "key") == new })
    #expect(try cache.value(Int.self, forKey: "key") == new)
    #expect(try cache.diskCache.value(Int.self, forKey: "key") == new)
    writer.release()
    group.wait()
    #expect(try cache.value(Int.self, forKey: "key") == new)
    #expect(cache.statistics.expirations == 0)
    try cache.close()
  }

  /// Whoever reads from the disk and whoever reads from memory see the same order.
  @Test func noReadGoesBackToAnOlderValue() throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .milliseconds(1) }
    try cache.set(0, forKey: "key")
    let isDone = Guarded(false)
    let group = DispatchGroup()
    for thread in 0..<3 {
      inBackground(group) {
        do {
          while !isDone.current {
            // Each value is greater than the one before: there is one writer.
            let seen = try cache.diskCache.value(Int.self, forKey: "key") ?? -1
            let after = try cache.value(Int.self, forKey: "key") ?? -1
            if after < seen { Issue.record("thread \(thread): \(after) after \(seen)") }
          }
        } catch { Issue.record(error) }
      }
    }
    for number in 1...20_000 { try cache.set(number, forKey: "key") }
    isDone { $0 = true }
    group.wait()
    try cache.close()
  }
}
