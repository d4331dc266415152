import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct VisibilityStormTests {
  let directory = CacheDirectory()

  /// A set in progress may be visible or not, but never becomes invisible to a reader that has seen it.
  @Test(arguments: [false, true]) func aSetThatIsUnderWayIsSeenByAllOnceItIsSeen(_ isRemoval: Bool) throws {
    // With `.full`, a set waits for its commit, which the test holds up.
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
    #expect(try eventually { try cache.withoutMemory.value(Int.self, forKey: "key") == new })
    #expect(try cache.value(Int.self, forKey: "key") == new)
    #expect(try cache.withoutMemory.value(Int.self, forKey: "key") == new)
    writer.release()
    group.wait()
    #expect(try cache.value(Int.self, forKey: "key") == new)
    #expect(cache.statistics.expirations == 0)
    try cache.close()
  }

  /// Disk reads and memory reads see the same order.
  @Test func noReadGoesBackToAnOlderValue() throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .milliseconds(1) }
    try cache.set(0, forKey: "key")
    let isDone = Guarded(false)
    let group = DispatchGroup()
    for thread in 0..<3 {
      inBackground(group) {
        do {
          while !isDone.current {
            // A single writer stores increasing values.
            let seen = try cache.withoutMemory.value(Int.self, forKey: "key") ?? -1
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
