import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Maps that grow while several processes use them, and one that cannot grow.
@Suite(.serialized) struct MapProcessTests {
  let directory = CacheDirectory()

  /// Any transaction may start on a map that the other process enlarged.
  @Test func anotherProcessGrowsTheMapInAStorm() throws {
    let cache = try directory.openDisk {
      $0.disk.mapSize = 1 << 20; $0.disk.journalSize = 256 << 10; $0.disk.groupCommitInterval = .milliseconds(1)
    }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=1 map=1048576 journal=262144") == "ok")
    let count = 2_000
    child.send("range far- 0 \(count) 4000")
    let isDone = Guarded(false)
    let (reads, writes) = (Guarded(0), Guarded(0))
    let group = DispatchGroup()
    for thread in 0..<3 {
      inBackground(group) {
        var random = SeededRandom(UInt64(thread))
        do {
          while !isDone.current {
            if thread == 0 {
              let number = writes { (count: inout Int) -> Int in
                count += 1
                return count - 1
              }
              try cache.set(payload("near", number, 500), forKey: "near-\(number % 200)")
              if number % 20 == 0 { try cache.flush() }
              continue
            }
            let number = random.below(count)
            let value = try cache.value(String.self, forKey: "far-\(number)")
            if let value, value != payload("far-\(number)", number, 4_000) { Issue.record("\(value.prefix(40))") }
            if value != nil { reads { $0 += 1 } }
          }
        } catch {
          Issue.record(error)
        }
      }
    }
    var answered = 0
    while answered < count, child.readLine() == String(answered) { answered += 1 }
    #expect(answered == count)
    #expect(child.readLine() == "ok")
    #expect(child.run("flush") == "ok")
    isDone { $0 = true }
    group.wait()
    try cache.flush()
    #expect(reads.current > 0 && writes.current > 0)
    #expect(cache.health.isHealthy)
    // The other process's values do not fit in the initial map, so it must have grown it too.
    for number in 0..<count {
      #expect(try cache.value(String.self, forKey: "far-\(number)") == payload("far-\(number)", number, 4_000))
    }
    #expect(try cache.entries().count == cache.count)
    #expect(child.run("close") == "ok")
    try cache.close()
  }

  #if os(Linux)
    /// Under `ulimit -v` the oldest values are evicted. The limit leaves room for the heap and some threads, but not for
    /// a second map of twice the size.
    @Test(.disabled(if: Sanitizer.address.isActive, "the sanitizer's own memory counts against the limit"))
    func aMapThatMayNotGrowEvicts() throws {
      let child = try cacheProcess()
      let size = 24 << 20
      #expect(child.run("open \(directory.path) interval=1 map=\(size) journal=1048576 threshold=1048576") == "ok")
      #expect(child.run("addressspace \(size + size / 2)") == "ok")
      let count = 2_500
      child.send("range key 0 \(count) 20000")
      var answered = 0
      while answered < count, child.readLine() == String(answered) { answered += 1 }
      #expect(answered == count)
      #expect(child.readLine() == "ok")
      #expect(child.run("flush") == "ok")
      let kept = Int(child.run("count") ?? "") ?? 0
      #expect(kept > 100 && kept < count)
      #expect(child.run("get key\(count - 1)") == payload("key\(count - 1)", count - 1, 20_000))
      for number in stride(from: 0, to: count, by: 97) {
        let value = child.run("get key\(number)")
        #expect(value == "nil" || value == payload("key\(number)", number, 20_000))
      }
      #expect(child.run("close") == "ok")
      // Without the limit it grows again.
      let cache = try directory.open()
      #expect(try cache.count == kept)
      for number in 0..<count { try cache.set(payload("new", number, 20_000), forKey: "new\(number)") }
      try cache.flush()
      #expect(try cache.count == kept + count)
      try cache.close()
    }
  #endif
}
