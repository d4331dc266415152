import EFStorageLMDBCache
import EFStorageUserDefaults
import Foundation
import TestSupport
import Testing

/// Many threads on the same references; run under the thread sanitizer as well.
@Suite(.serialized)
struct EFStorageStormTests {
  @Test func cacheReferences() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache { $0.memory.countLimit = 8 }
    let keys = (0..<16).map { "key\($0)" }
    for key in keys { cache.efStorage[dynamicMember: key] = key + "#" + String(repeating: "x", count: 40) }
    concurrently(4) { thread in
      var random = SeededRandom(UInt64(thread))
      for step in 0..<8_000 {
        let key = keys[random.below(keys.count)]
        let reference = EFStorageLMDBCacheRef<String>.forKey(key, in: cache)
        switch random.below(thread == 0 ? 4 : 40) {
        case 0: reference.content = key + "#" + String(repeating: "y", count: random.below(60))
        case 1 where step % 50 == 0: cache.memoryCache.removeAll()
        default:
          let content = reference.content
          if content?.hasPrefix(key + "#") != true { Issue.record("\(key) is \(content as Any)") }
        }
      }
    }
  }

  /// What a thread has seen it does not see older again, neither through the reference nor through the cache.
  @Test func neverGoesBack() throws {
    let cache = try TemporaryDirectory().cache()
    let reference = EFStorageLMDBCacheRef<Int>.forKey("counter", in: cache)
    reference.content = 0
    concurrently(4) { thread in
      if thread == 0 {
        for number in 1...10_000 { reference.content = number }
        return
      }
      var last = 0
      while last < 10_000 {
        for read in [reference.content, try? cache.value(Int.self, forKey: "counter"), reference.content] {
          guard let read, read >= last else {
            Issue.record("\(read as Any) after \(last)")
            return
          }
          last = read
        }
      }
    }
  }

  @Test func closingWhileReading() throws {
    let directory = try TemporaryDirectory()
    _ = Failures()
    for round in 0..<30 {
      let cache = try directory.cache()
      let reference = EFStorageLMDBCacheRef<Int>.forKey("key", in: cache)
      reference.content = round
      concurrently(3) { thread in
        if thread == 0 {
          usleep(200)
          try? cache.close()
        } else {
          while let content = reference.content, content == round {}
        }
      }
      #expect(reference.content == nil)
    }
  }

  @Test func userDefaultsReferences() {
    let temporary = TemporaryDefaults()
    let defaults = temporary
    for key in 0..<4 { EFStorageUserDefaultsRef<Int>.forKey("key\(key)", in: defaults.defaults).content = key }
    concurrently(4) { thread in
      var random = SeededRandom(UInt64(thread))
      for _ in 0..<2_000 {
        let key = random.below(4)
        let reference = EFStorageUserDefaultsRef<Int>.forKey("key\(key)", in: defaults.defaults)
        if random.below(4) == 0 { reference.content = key + 4 * random.below(100) }
        let content = reference.content
        if content.map({ $0 % 4 == key }) != true { Issue.record("key\(key) is \(content as Any)") }
      }
    }
  }
}
