import Platform
import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct DeletionTests {
  let directory = CacheDirectory()

  /// Another cache, closed, with one entry.
  func otherCache() throws -> CacheDirectory {
    let other = CacheDirectory()
    let cache = try other.open()
    try cache.set("other", forKey: "other")
    try cache.close()
    return other
  }

  @Test(arguments: FileHarm.allCases) func theNextCommitIsInTheFilesAtThePaths(_ harm: FileHarm) throws {
    let other = try otherCache()
    let clock = ManualClock()
    let cache = try directory.open {
      neverCommitting(&$0)
      $0.clock = .manual(clock)
    }
    let changes = cache.changes()
    for index in 0..<100 { try cache.set("old \(index)", forKey: "old\(index)") }
    try cache.flush()
    let old = cache.store.environment.files
    // Reading past the new end of a file raises a signal, as documented. The writer thread reads for `changes`, and may
    // commit soon after a flush.
    try cache.store.onWriterThread { [directory] in
      .success(
        Result {
          try cache.set("pending", forKey: "pending")
          try harm.happen(to: directory, other)
        })
    }.get()
    try cache.set("new", forKey: "new")
    try cache.flush()

    #expect(cache.statistics.reopenings == 1)
    #expect(cache.health.isHealthy)
    #expect(cache.store.environment.files.lockFile == (try Paths.identity(of: directory.path + "/lock.mdb")))
    #expect(cache.store.environment.files.data == (try Paths.identity(of: directory.path + "/data.mdb")))
    if harm.empties { #expect(cache.store.environment.files.data != old.data) }
    let expected = harm.empties ? nil : "old 7"
    // Memory agrees with the disk.
    #expect(try cache.value(String.self, forKey: "old7") == expected)
    #expect(try cache.value(String.self, forKey: "pending") == "pending")
    #expect(try cache.value(String.self, forKey: "new") == "new")
    let replaced = [.replacedData, .replacedPair, .replacedDirectory].contains(harm)
    #expect(try cache.value(String.self, forKey: "other") == (replaced ? "other" : nil))
    #expect(try cache.count == 2 + (harm.empties ? 0 : 100) + (replaced ? 1 : 0))
    #expect(changes.taken().contains(.missed))
    for index in 0..<1_000 { try cache.set(index, forKey: "more\(index)") }
    // Uncommitted writes are replayed from the journal.
    let crashed = directory.crashed(cache)
    let survivor = try crashed.open()
    #expect(try survivor.value(Int.self, forKey: "more999") == 999)
    try survivor.close()
    try cache.close()
    let again = try directory.open()
    #expect(try again.value(String.self, forKey: "new") == "new")
    #expect(try again.value(Int.self, forKey: "more500") == 500)
    try again.close()
    #expect(directory.journals.isEmpty)
  }

  @Test(arguments: [FileHarm.theDirectory, .data, .lockFile])
  func itIsNoticedWithinASecondByACacheThatDoesNothing(_ harm: FileHarm) throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    try cache.set("old", forKey: "key")
    try cache.flush()
    try harm.happen(to: directory, directory)
    clock.advance(by: .seconds(1))
    #expect(eventually { cache.statistics.reopenings == 1 })
    #expect(directory.names().contains("data.mdb") && directory.names().contains("lock.mdb"))
    #expect(try cache.value(String.self, forKey: "key") == (harm.empties ? nil : "old"))
    try cache.close()
  }

  @Test(arguments: [FileHarm.data, .both, .replacedData, .replacedPair])
  func aJournalThatStaysGoesOnInTheNewDatabase(_ harm: FileHarm) throws {
    let other = try otherCache()
    let clock = ManualClock()
    let cache = try directory.open {
      neverCommitting(&$0)
      $0.clock = .manual(clock)
    }
    try cache.set("old", forKey: "old")
    try cache.flush()
    try harm.happen(to: directory, other)
    clock.advance(by: .seconds(1))
    #expect(eventually { cache.statistics.reopenings == 1 })
    // The process dies without a commit.
    try cache.set("new", forKey: "new")
    let survivor = try directory.crashed(cache).open()
    #expect(try survivor.value(String.self, forKey: "new") == "new")
    #expect(try survivor.value(String.self, forKey: "old") == nil)
    try survivor.close()
    try cache.close()
  }

  @Test func openingTheDirectoryAgainGivesTheNewOneToTheOldHandleToo() throws {
    let old = try directory.open(neverCommitting)
    try old.set("old", forKey: "key")
    try old.flush()
    try FileManager.default.removeItem(atPath: directory.path)
    let new = try directory.open(neverCommitting)
    #expect(try new.value(String.self, forKey: "key") == nil)
    #expect(new.store === old.store)
    try new.set("new", forKey: "key")
    #expect(try old.value(String.self, forKey: "key") == "new")
    try new.flush()
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    #expect(child.run("get key") == "new")
    try old.close()
    try new.close()
  }

  @Test func aSnapshotThatIsHeldIsOfTheOldFilesAndHoldsNobodyUpForLong() throws {
    let cache = try directory.open()
    try cache.set("old", forKey: "key")
    try cache.read { snapshot in
      try FileManager.default.removeItem(atPath: directory.path)
      try cache.set("new", forKey: "key")
      // The writer thread cannot switch to the new files yet, and reports it.
      #expect(errorCode { try cache.flush() } == .notCommitted)
      #expect(!cache.health.isHealthy)
      #expect(try snapshot.value(String.self, forKey: "key") == "old")
      let elsewhere = DispatchQueue.global().sync { errorCode { try cache.value(Int.self, forKey: "other") } }
      #expect(elsewhere == nil)
    }
    #expect(eventually { cache.health.isHealthy })
    try cache.flush()
    #expect(try cache.value(String.self, forKey: "key") == "new")
    #expect(try cache.count == 1)
    try cache.close()
  }

  @Test func aDirectoryThatCannotBeMadeIsAFailureThatEnds() throws {
    let parent = CacheDirectory()
    let cache = try LMDBCache(
      directory: parent.url("cache"), configuration: CacheDirectory.configuration(neverCommitting))
    try cache.set("old", forKey: "key")
    try cache.flush()
    try FileManager.default.removeItem(at: parent.url("cache"))
    parent.write(Data("in the way".utf8), to: "cache")
    try cache.set("new", forKey: "key")
    #expect(errorCode { try cache.flush() } == .notCommitted)
    guard case .memoryOnly(let error) = cache.health else { throw Failed("\(cache.health)") }
    #expect(error.message.contains("cache"))
    #expect(try cache.value(String.self, forKey: "key") == "new")
    try FileManager.default.removeItem(at: parent.url("cache"))
    #expect(eventually { cache.health.isHealthy })
    try cache.flush()
    #expect(try cache.count == 1)
    try cache.close()
  }

  struct Failed: Error {
    let text: String
    init(_ text: String) { self.text = text }
  }
}
