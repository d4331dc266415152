import EFStorageConformance
import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation
import Testing

struct ConformanceTests {
  @Test(arguments: [false, true]) func cache(isWrittenThroughAnotherHandle: Bool) throws {
    _ = Failures()
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    let writer = try isWrittenThroughAnotherHandle ? directory.cache() : cache
    var conformance = EFStorageConformance<EFStorageLMDBCache<[Int]>>(
      storage: cache, other: try directory.cache("other"), contents: [[1], [], [2, 3]])
    conformance.writePast = { _, key, content in
      if let content { try writer.set(content, forKey: key) } else { try writer.withoutMemory.removeValue(forKey: key) }
    }
    conformance.writeUnreadable = { _, key in try writer.set("no numbers", forKey: key) }
    conformance.holdsAnything = { _, key in writer.containsObject(forKey: key) }
    #expect(conformance.violations() == [])
    // The check finds a broken rule.
    conformance.writePast = { _, _, _ in }
    #expect(conformance.violations().contains("A write past the reference is not seen."))
  }

  @Test func userDefaults() {
    _ = Failures()
    let (one, two) = (TemporaryDefaults(), TemporaryDefaults())
    var conformance = EFStorageConformance<EFStorageUserDefaults<Int>>(
      storage: one.defaults, other: two.defaults, contents: [1, -2, 0])
    conformance.writePast = { storage, key, content in
      if let content { storage.set(content, forKey: key) } else { storage.removeObject(forKey: key) }
    }
    conformance.writeUnreadable = { storage, key in storage.set("no number", forKey: key) }
    conformance.holdsAnything = { storage, key in storage.object(forKey: key) != nil }
    #expect(conformance.violations() == [])
  }
}
