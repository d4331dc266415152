import Dispatch
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Conditional writes, and maps that grow, while another process uses the cache. The trial of kills counts the
/// additions of many processes.
@Suite(.serialized) struct SharedDirectoryTests {
  let directory = CacheDirectory()

  /// With the lock file deleted, processes must detect each other another way.
  @Test func noIncrementIsLostWhereSomebodyDeletesTheProcessesLock() throws {
    let first = try cacheProcess()
    #expect(first.run("open \(directory.path) interval=20") == "ok")
    #expect(first.run("increments key 100") == "ok")
    func isRevoked() -> Bool {
      directory.contents(directory.journals[0])[ExclusiveUse.revokedOffset..<ExclusiveUse.revokedOffset + 4]
        .contains { $0 != 0 }
    }
    #expect(!isRevoked())
    first.send("increment key 2000")
    // It is adding when the file goes.
    for _ in 0..<10 { #expect(first.readLine() != nil) }
    try FileManager.default.removeItem(at: directory.url("processes.lock"))
    let cache = try directory.open()
    #expect(isRevoked())
    for _ in 0..<300 { try cache.increment(forKey: "key") }
    for _ in 10..<2_000 { #expect(first.readLine() != nil) }
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
        } catch { Issue.record(error) }
      }
    }
    for number in 0..<count { #expect(child.readLine() == String(number)) }
    #expect(child.readLine() == "ok" && child.run("flush") == "ok")
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

  /// A suspended process's pending writes cannot be skipped, so the call fails with an error that names it.
  @Test func aSuspendedProcessIsNamed() throws {
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=60000") == "ok")
    #expect(child.run("increments key 10") == "ok")
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
