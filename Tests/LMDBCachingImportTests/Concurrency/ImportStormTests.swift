import Foundation
import LMDBCaching
import LMDBCachingImport
import Synchronization
import TestSupport
import Testing

@Suite struct ImportStormTests {
  let place = Place()

  /// A program uses the cache while the old one is still being imported.
  @Test(arguments: StoreKind.all)
  func whatIsWrittenMeanwhileIsNewer(_ kind: StoreKind) throws {
    let entries = (0..<2_000).map { (key: "key \($0)", text: "value \($0)") }
    try kind.write(entries, place)
    let cache = try place.cache()
    let isDone = Atomic<Bool>(false)
    let written = Mutex<Set<String>>([])
    let group = DispatchGroup()
    for index in 0..<2 {
      inBackground(group) {
        var number = index
        while !isDone.load(ordering: .relaxed) {
          let key = "key \(number % 2_000)"
          number += 7
          try! cache.set("written", forKey: key)
          written.withLock { _ = $0.insert(key) }
        }
      }
    }
    let report = try CacheImport(from: kind.source(place)).run(into: cache)
    isDone.store(true, ordering: .relaxed)
    group.wait()
    let newer = written.withLock { $0 }
    #expect(report.taken + report.present == 2_000)
    for (key, text) in entries {
      if newer.contains(key) {
        #expect(try cache.value(String.self, forKey: key) == "written")
      } else {
        #expect(try kind.read(cache, key) == text)
      }
    }
  }
}
