import Platform
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite(.serialized) struct ProcessTests {
  let directory = CacheDirectory()

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
