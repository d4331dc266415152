import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite(.serialized) struct ConditionalProcessTests {
  let directory = CacheDirectory()

  @Test func noIncrementOfAnyProcessIsLost() throws {
    let cache = try directory.open()
    let children = try (0..<3).map { _ in try cacheProcess() }
    for child in children { #expect(child.run("open \(directory.path)") == "ok") }
    for child in children { child.send("increments key 300 2") }
    for _ in 0..<300 { try cache.increment(forKey: "key") }
    for child in children { #expect(child.readLine() == "ok") }
    #expect(try cache.value(Int.self, forKey: "key") == 2_100)
    for child in children { #expect(child.run("increment key 1") != "error") }
    for child in children { child.end() }
    try cache.close()
  }

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

  @Test func ofAllProcessesOneIsTheFirst() throws {
    let children = try (0..<4).map { _ in try cacheProcess() }
    for child in children { #expect(child.run("open \(directory.path)") == "ok") }
    for child in children { child.send("absent key 200") }
    let wins = children.map { Int($0.readLine() ?? "") ?? -1 }
    #expect(wins.reduce(0, +) == 200)
    #expect(wins.allSatisfy { $0 >= 0 })
    for child in children { child.end() }
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

  /// Acknowledged increments survive a kill; at most one unacknowledged one may be there.
  @Test func whatAKilledProcessHadChangedIsThere() throws {
    for round in 0..<8 {
      let child = try cacheProcess()
      // Every second round other processes have the cache open.
      let company = round % 2 == 0 ? nil : try directory.open()
      #expect(child.run("open \(directory.path) interval=\(round % 4 < 2 ? 50 : 5_000)") == "ok")
      child.send("increment key\(round) 1000000")
      var last = 0
      for _ in 0..<(50 + round * 37) { last = child.readLine().flatMap { Int($0) } ?? last }
      child.kill()
      while let line = child.readLine(), let number = Int(line) { last = number }
      let cache = try company ?? directory.open()
      let sum = try cache.increment(forKey: "key\(round)")
      #expect(sum == last + 1 || sum == last + 2)
      try cache.close()
    }
  }

  /// A conditional write cannot see another process's uncommitted write, so that write comes after it, even if its
  /// process dies and another one replays it.
  @Test(arguments: [true, false], ["set key theirs", "remove key", "removeall"])
  func aPlainWriteThatWasNotSeenTakesItsPlace(_ dies: Bool, _ write: String) throws {
    let cache = try directory.open()
    try cache.set("old", forKey: "key")
    try cache.flush()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=86400000") == "ok")
    #expect(child.run("get key") == "old")
    #expect(child.run(write) == "ok")
    try cache.update(String.self, forKey: "key") { $0 = "mine" }
    #expect(try cache.value(String.self, forKey: "key") == "mine")
    if dies { child.kill() } else { #expect(child.run("flush") == "ok") }
    let expected = write.hasSuffix("theirs") ? "theirs" : nil
    #expect(eventually { (try? cache.value(String.self, forKey: "key")) == .some(expected) })
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == expected)
    if !dies { child.end() }
    try cache.close()
    let again = try directory.open()
    #expect(try again.value(String.self, forKey: "key") == expected)
    try again.close()
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
