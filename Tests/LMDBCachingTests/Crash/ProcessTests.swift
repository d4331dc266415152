import Platform
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite(.serialized) struct ProcessTests {
  let directory = CacheDirectory()

  @Test func whatTwoProcessesWriteAThirdReads() throws {
    let cache = try directory.open()
    let children = try (0..<2).map { _ in try cacheProcess() }
    for child in children { #expect(child.run("open \(directory.path) interval=2") == "ok") }
    for (index, child) in children.enumerated() { child.send("range c\(index)- 0 400 60") }
    var seen = 0
    for child in children {
      var next = 0
      while next < 400, let line = child.readLine() {
        #expect(line == String(next))
        next += 1
        // Every value seen was written.
        for index in 0..<2 {
          let key = "c\(index)-\(next / 2)"
          if let value = try cache.value(String.self, forKey: key) {
            #expect(value == payload(key, next / 2, 60))
            seen += 1
          }
        }
      }
      #expect(child.readLine() == "ok")
      #expect(child.run("flush") == "ok")
    }
    #expect(seen > 0)
    for index in 0..<2 {
      for number in 0..<400 {
        let key = "c\(index)-\(number)"
        #expect(try cache.value(String.self, forKey: key) == payload(key, number, 60))
      }
    }
    #expect(try cache.count == 800)
    try cache.close()
  }

  @Test func ofTwoWritersToOneKeyOneWins() throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .milliseconds(1) }
    let children = try (0..<2).map { _ in try cacheProcess() }
    for child in children { #expect(child.run("open \(directory.path) interval=1") == "ok") }
    for (index, child) in children.enumerated() { child.send("same key w\(index) 3000") }
    let group = DispatchGroup()
    let isDone = Guarded(false)
    let counts = Guarded([0, 0])
    inBackground(group) {
      while !isDone.current {
        guard let value = (try? cache.value(String.self, forKey: "key")) ?? nil else { continue }
        let writer = value.hasPrefix("w0#") ? 0 : 1
        let number = Int(value.dropFirst(3).prefix { $0 != ";" }) ?? -1
        if value != payload("w\(writer)", number, 40) { Issue.record("never written: \(value)") }
        counts { $0[writer] += 1 }
      }
    }
    for child in children { #expect(child.readLine() == "ok") }
    for child in children { #expect(child.run("flush") == "ok") }
    isDone { $0 = true }
    group.wait()
    let last = try cache.value(String.self, forKey: "key")
    #expect(last == payload("w0", 2_999, 40) || last == payload("w1", 2_999, 40))
    for child in children { #expect(child.run("get key") == last) }
    #expect(try cache.count == 1)
    try cache.close()
  }

  @Test func aCommittedWriteReplacesOtherProcessesMemory() throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .milliseconds(1) }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=1") == "ok")
    try cache.write(waitsForCommit: true) { $0.set("0", forKey: "key") }
    #expect(child.run("get key") == "0")
    for round in 1...50 {
      if round % 2 == 0 {
        // Returns after the commit.
        #expect(child.run("write key \(round)") == "ok")
        #expect(try cache.value(String.self, forKey: "key") == String(round))
      } else {
        try cache.write(waitsForCommit: true) { $0.set(String(round), forKey: "key") }
        #expect(child.run("get key") == String(round))
      }
    }
    #expect(child.run("set key later") == "ok")
    #expect(try eventually { try cache.value(String.self, forKey: "key") == "later" })
    #expect(child.run("remove key") == "ok")
    #expect(try eventually { try cache.value(String.self, forKey: "key") == nil })
    try cache.close()
  }

  /// Another process may commit a newer value before the writer thread records its own commit.
  @Test func aPendingWriteGivesWayToWhatWasCommittedAfterIt() throws {
    let cache = try directory.open(neverCommitting)
    let store = cache.store
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    try cache.set("mine", forKey: "key")
    let writer = HeldWriter(store)
    // The state during a commit.
    store.journal.lock.withLock {
      store.journal.sealActive(nil)
      store.journal.state.committingNumber = store.journal.state.sealed.last!.number
    }
    #expect(child.run("write key theirs") == "ok")
    #expect(try cache.value(String.self, forKey: "key") == "mine")
    // Committed before the other process's write, but not recorded yet.
    store.journal.committingPosition.store(store.foreignPosition - 1, ordering: .releasing)
    #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "theirs")
    #expect(child.run("write other theirs") == "ok")
    #expect(try cache.value(String.self, forKey: "key") == "theirs")
    store.journal.committingPosition.store(0, ordering: .releasing)
    writer.release()
    try cache.close()
  }

  @Test func anEntryOfOneProcessOutlivesOtherWritesOfAnother() throws {
    let cache = try directory.open(neverCommitting)
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    try cache.set("mine", forKey: "key")
    #expect(child.run("write other theirs") == "ok")
    // Still pending here, so this process's value is the newest.
    #expect(try cache.value(String.self, forKey: "key") == "mine")
    try cache.flush()
    #expect(try cache.value(String.self, forKey: "key") == "mine")
    #expect(child.run("get key") == "mine")
    #expect(try cache.value(String.self, forKey: "other") == "theirs")
    try cache.close()
  }

  @Test func aRemovalOfAllReachesTheOthers() throws {
    let cache = try directory.open { $0.disk.groupCommitInterval = .milliseconds(1) }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    for index in 0..<50 { try cache.set(String(index), forKey: "k\(index)") }
    try cache.flush()
    #expect(child.run("get k7") == "7")
    #expect(child.run("removeall") == "ok")
    #expect(child.run("flush") == "ok")
    for index in 0..<50 { #expect(try cache.value(String.self, forKey: "k\(index)") == nil) }
    #expect(try cache.count == 0)
    try cache.set("again", forKey: "k7")
    try cache.flush()
    #expect(child.run("get k7") == "again")
    try cache.removeAll()
    try cache.flush()
    #expect(child.run("get k7") == "nil")
    try cache.close()
  }

  @Test func whatARemovalOfAllDropsFromAnothersJournalLeavesItsMemoryToo() throws {
    let cache = try directory.open(neverCommitting)
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    try cache.set("pending", forKey: "key")
    #expect(child.run("removeall") == "ok")
    #expect(child.run("flush") == "ok")
    // The value may be served until the commit, and is then removed.
    _ = try cache.value(String.self, forKey: "key")
    try cache.flush()
    #expect(try cache.value(String.self, forKey: "key") == nil)
    #expect(try !cache.contains("key"))
    #expect(try cache.count == 0)
    #expect(child.run("get key") == "nil")
    try cache.close()
  }

  @Test func aPrefixRemovalReachesTheOthers() throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    for index in 0..<40 { try cache.set(String(index), forKey: "\(index % 2)/\(index)") }
    try cache.flush()
    #expect(child.run("open \(directory.path)") == "ok")
    #expect(child.run("removeprefix 1/") == "ok")
    #expect(child.run("flush") == "ok")
    for index in 0..<40 {
      #expect(try cache.value(String.self, forKey: "\(index % 2)/\(index)") == (index % 2 == 1 ? nil : String(index)))
    }
    #expect(try cache.count == 20)
    try cache.close()
  }

  @Test func batchesOfAnotherProcessAreSeenWhole() throws {
    let cache = try directory.open()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    child.send("batches a b 150")
    var last = 0
    let group = DispatchGroup()
    let isDone = Guarded(false)
    inBackground(group) {
      _ = child.readLine()
      isDone { $0 = true }
    }
    while !isDone.current {
      let pair = try cache.read { (try $0.value(Int.self, forKey: "a"), try $0.value(Int.self, forKey: "b")) }
      #expect(pair.0 == pair.1)
      #expect(pair.0 ?? 0 >= last)
      last = pair.0 ?? 0
    }
    group.wait()
    #expect(try cache.value(Int.self, forKey: "a") == 149)
    try cache.close()
  }

  @Test func aSnapshotHeldElsewhereKeepsItsMoment() throws {
    let cache = try directory.open()
    try cache.write(waitsForCommit: true) { $0.set("old", forKey: "key") }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    #expect(child.run("snapshot key") == "held")
    try cache.write(waitsForCommit: true) { $0.set("new", forKey: "key") }
    #expect(child.run("release") == "old")
    #expect(child.run("get key") == "new")
    // A reader that dies with an open snapshot blocks no one.
    #expect(child.run("snapshot key") == "held")
    child.kill()
    for index in 0..<200 { try cache.set(index, forKey: "other") }
    try cache.flush()
    #expect(try cache.value(String.self, forKey: "key") == "new")
    try cache.close()
  }

  @Test func anotherDurabilityIsTheNamedError() throws {
    let cache = try directory.open()
    try cache.set("v", forKey: "key")
    try cache.flush()
    let child = try cacheProcess()
    for durability in [Durability.full, .fast] {
      #expect(child.run("open \(directory.path) durability=\(durability.rawValue)") == "error durabilityMismatch")
      #expect(errorCode { try directory.open { $0.durability = durability } } == .durabilityMismatch)
    }
    try cache.close()
    for durability in [Durability.full, .fast] {
      #expect(errorCode { try directory.open { $0.durability = durability } } == .durabilityMismatch)
    }
    // A refused opening leaves no state behind.
    #expect(!directory.names().contains(FastSession.name))
    let reopened = try directory.open()
    #expect(try reopened.value(String.self, forKey: "key") == "v")
    try reopened.close()
  }
}
