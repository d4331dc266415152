import LMDBCaching
import TestSupport
import Testing

@testable import EFStorageLMDBCache

@Suite struct DefaultCacheTests {
  @Test func theOldOneIsReleasedAfterTheLock() throws {
    let directory = try TemporaryDirectory()
    let place = DefaultCache()
    let found = Guarded<LMDBCache?>(nil)
    do {
      let old = try directory.cache("old")
      old.memory.releasesAsynchronously = false
      try old.set(LastWish { found { $0 = place.cache } }, forKey: "key")
      place.cache = old
    }
    let new = try directory.cache("new")
    place.cache = new
    #expect(found.current === new)
    try new.close()
  }
}
