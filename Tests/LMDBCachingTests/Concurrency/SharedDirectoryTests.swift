import Dispatch
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Conditional writes, and maps that grow or cannot grow, while another process uses the cache. The trial of updates
/// counts those of many processes.
@Suite(.serialized) struct SharedDirectoryTests {
  let directory = CacheDirectory()

  /// With the lock file deleted, processes must detect each other another way.
  @Test func noIncrementIsLostWhereSomebodyDeletesTheProcessesLock() throws {
    let first = try cacheProcess()
    #expect(first.run("open \(directory.path) interval=20") == "ok")
    #expect(first.run("increments key 100 1") == "ok")
    func isRevoked() -> Bool {
      directory.contents(directory.journals[0])[ExclusiveUse.revokedOffset..<ExclusiveUse.revokedOffset + 4]
        .contains { $0 != 0 }
    }
    #expect(!isRevoked())
    first.send("increments key 2000 1")
    try FileManager.default.removeItem(at: directory.url("processes.lock"))
    let cache = try directory.open()
    #expect(isRevoked())
    for _ in 0..<300 { try cache.increment(forKey: "key") }
    #expect(first.readLine() == "ok")
    #expect(try cache.increment(forKey: "key") == 2_401)
    first.end()
    try cache.close()
  }

  /// Any transaction may start on a map that the other process enlarged.
  @Test func anotherProcessGrowsTheMap() throws {
    let cache = try directory.openDisk {
      $0.disk.mapSize = 1 << 20
      $0.disk.journalSize = 256 << 10
      $0.disk.groupCommitInterval = .milliseconds(1)
    }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=1 map=1048576 journal=262144") == "ok")
    let count = 2_000
    child.send("range far- 0 \(count) 4000")
    let isDone = Guarded(false)
    let group = DispatchGroup()
    for thread in 0..<3 {
      inBackground(group) {
        var random = SeededRandom(UInt64(thread))
        do {
          while !isDone.current {
            let number = random.below(count)
            if thread == 0 { try cache.set(payload("near", number, 500), forKey: "near-\(number % 200)") }
            let value = try cache.value(String.self, forKey: "far-\(number)")
            if let value, value != payload("far-\(number)", number, 4_000) { Issue.record("\(value.prefix(40))") }
          }
        } catch {
          Issue.record(error)
        }
      }
    }
    for number in 0..<count { #expect(child.readLine() == String(number)) }
    #expect(child.readLine() == "ok")
    #expect(child.run("flush") == "ok")
    isDone { $0 = true }
    group.wait()
    try cache.flush()
    #expect(cache.health.isHealthy)
    // These do not fit in the initial map, so this process has grown it too.
    for number in 0..<count {
      #expect(try cache.value(String.self, forKey: "far-\(number)") == payload("far-\(number)", number, 4_000))
    }
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

    @Test func aFailedChangeIsNotWaitedFor() throws {
      let child = try cacheProcess()
      let durability = Durability.full.rawValue
      #expect(child.run("open \(directory.path) journal=65536 durability=\(durability)") == "ok")
      #expect(child.run("set key v") == "ok")
      // It detects that it is alone.
      #expect(child.run("increment number 1") == "1")
      #expect(child.readLine() == "ok")
      #expect(child.run("filelimit 12288") == "ok")
      // Fills the journal to its last bytes.
      for index in 0..<200 { _ = child.run("big k\(index) 900") }
      for index in 0..<100 { _ = child.run("big k\(index) 1") }
      let refusal = child.run("increment number 1") ?? ""
      #expect(refusal.hasPrefix("error") && refusal != "error notCommitted", "\(refusal)")
      #expect(child.run("filelimit 1099511627776") == "ok")
      #expect(child.run("settle") == "ok")
      let cache = try directory.open {
        $0.durability = .full
        $0.disk.lockTimeout = .seconds(5)
      }
      #expect(try cache.increment(forKey: "number") == 2)
      try cache.close()
      child.end()
    }
  #endif

  /// A suspended process's pending writes cannot be skipped, so the call fails with an error that names it.
  @Test func aSuspendedProcessIsNamed() throws {
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=60000") == "ok")
    #expect(child.run("increments key 10 1") == "ok")
    child.suspend()
    let cache = try directory.open { $0.disk.lockTimeout = .milliseconds(150) }
    let code = errorCode { try cache.increment(forKey: "key") }
    #expect(code == .lockTimeout)
    try cache.set(1, forKey: "other")
    #expect(try cache.value(Int.self, forKey: "other") == 1)
    child.resume()
    #expect(eventually { (try? cache.increment(forKey: "key")) == 11 })
    child.end()
    try cache.close()
  }
}
