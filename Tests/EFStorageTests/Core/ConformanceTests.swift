import EFStorageConformance
import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation
import Testing

struct ConformanceTests {
  @Test func cache() throws {
    _ = Failures()
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    let other = try directory.cache("other")
    var conformance = EFStorageConformance<EFStorageLMDBCache<[Int]>>(
      storage: cache, other: other, contents: [[1], [], [2, 3]])
    conformance.writePast = { storage, key, content in
      if let content { try storage?.set(content, forKey: key) } else { try storage?.removeValue(forKey: key) }
    }
    conformance.writeUnreadable = { storage, key in try storage?.set("no numbers", forKey: key) }
    conformance.holdsAnything = { storage, key in storage?.containsObject(forKey: key) == true }
    #expect(conformance.violations() == [])
  }

  @Test func cacheOfAnotherHandle() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    let sameDirectory = try directory.cache()
    let other = try directory.cache("other")
    var conformance = EFStorageConformance<EFStorageLMDBCache<String>>(
      storage: cache, other: other, contents: ["a", "b", ""])
    conformance.writePast = { _, key, content in
      if let content {
        try sameDirectory.set(content, forKey: key)
      } else {
        try sameDirectory.withoutMemory.removeValue(forKey: key)
      }
    }
    #expect(conformance.violations() == [])
  }

  @Test func userDefaults() {
    _ = Failures()
    let one = TemporaryDefaults()
    let two = TemporaryDefaults()
    var conformance = EFStorageConformance<EFStorageUserDefaults<Int>>(
      storage: one.defaults, other: two.defaults, contents: [1, -2, 0])
    conformance.writePast = { storage, key, content in
      if let content { storage.set(content, forKey: key) } else { storage.removeObject(forKey: key) }
    }
    conformance.writeUnreadable = { storage, key in storage.set("no number", forKey: key) }
    conformance.holdsAnything = { storage, key in storage.object(forKey: key) != nil }
    #expect(conformance.violations() == [])
  }

  /// A custom container keeps its contents in references, which the check finds.
  @Test func ownContainer() {
    var conformance = EFStorageConformance<EFStorageDrawer>(storage: Drawer(), other: Drawer(), contents: ["a", "b"])
    #expect(conformance.violations() == [])
    conformance.writePast = { $0.contents[$1] = $2 }
    #expect(conformance.violations().contains("A write past the reference is not seen."))
  }
}
