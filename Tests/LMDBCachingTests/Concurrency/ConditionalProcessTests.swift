import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite(.serialized) struct ConditionalProcessTests {
  let directory = CacheDirectory()

  /// Two processes and two threads write constantly; every closure must still end.
  @Test(arguments: ["sets key 100000000", "increments key 100000000 1"])
  func updatesEndBesideConstantWriters(_ writes: String) throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=1") == "ok")
    child.send(writes)
    let isOver = Atomic<Bool>(false)
    let group = DispatchGroup()
    inBackground(group) {
      while !isOver.load(ordering: .relaxed) {
        do { try cache.set(0, forKey: "key") } catch { Issue.record(error) }
      }
    }
    for _ in 0..<5 {
      var calls = 0
      try cache.update(Int.self, forKey: "key") { number in
        calls += 1
        usleep(20_000)
        number = -1
      }
      #expect(calls <= 6)
    }
    isOver.store(true, ordering: .relaxed)
    group.wait()
    child.kill()
    try cache.close()
  }

  /// A lone process changes entries in its journal; a newcomer must see pending ones.
  @Test(arguments: [0, 20, 2_000]) func whoComesSeesWhatWaits(_ interval: Int) throws {
    let first = try cacheProcess()
    #expect(first.run("open \(directory.path) interval=\(interval)") == "ok")
    var sum = 0
    for _ in 0..<5 {
      #expect(first.run("increments key 100 4") == "ok")
      sum += 401
      let cache = try directory.open()
      #expect(try cache.increment(forKey: "key") == sum)
      first.send("increments key 100 2")
      for _ in 0..<100 { try cache.increment(forKey: "key") }
      try cache.close()
      #expect(first.readLine() == "ok")
      sum += 301
      #expect(first.run("increment key 1") == "\(sum)")
      #expect(first.readLine() == "ok")
    }
    first.end()
  }

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

  #if os(Linux)
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

  /// Its pending writes cannot be skipped, so the call fails with an error that names it.
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
