import Dispatch
import Foundation
import LMDB
import Platform
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

  private func opened(_ clock: ManualClock) throws -> LMDBCache {
    try directory.open {
      neverCommitting(&$0)
      $0.clock = .manual(clock)
    }
  }

  @Test(arguments: FileHarm.allCases) func theNextCommitIsInTheFilesAtThePaths(_ harm: FileHarm) throws {
    let other = try otherCache()
    let cache = try opened(ManualClock())
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

    #expect(cache.statistics.reopenings == 1 && cache.health.isHealthy)
    let files = cache.store.environment.files
    #expect(files.lockFile == (try Paths.identity(of: directory.path + "/lock.mdb")))
    #expect(files.data == (try Paths.identity(of: directory.path + "/data.mdb")))
    if harm.empties { #expect(files.data != old.data) }
    // Memory agrees with the disk.
    #expect(try cache.value(String.self, forKey: "old7") == (harm.empties ? nil : "old 7"))
    #expect(try cache.values(String.self, forKeys: ["pending", "new"]) == ["pending", "new"])
    let replaced = [.replacedData, .replacedPair, .replacedDirectory].contains(harm)
    #expect(try cache.value(String.self, forKey: "other") == (replaced ? "other" : nil))
    #expect(try cache.count == 2 + (harm.empties ? 0 : 100) + (replaced ? 1 : 0))
    #expect(changes.taken().contains(.missed))
    for index in 0..<1_000 { try cache.set(index, forKey: "more\(index)") }
    // Uncommitted writes are replayed from the journal.
    let crashed = directory.crashed(cache)
    try cache.close()
    for place in [crashed, directory] {
      let again = try place.open()
      #expect(try again.value(String.self, forKey: "new") == "new")
      #expect(try again.value(Int.self, forKey: "more999") == 999)
      try again.close()
    }
    #expect(directory.journals.isEmpty)
  }

  @Test(arguments: [FileHarm.theDirectory, .data, .lockFile, .replacedPair])
  func itIsNoticedWithinASecondByACacheThatDoesNothing(_ harm: FileHarm) throws {
    let other = try otherCache()
    let clock = ManualClock()
    let cache = try opened(clock)
    try cache.set("old", forKey: "key")
    try cache.flush()
    try harm.happen(to: directory, other)
    clock.advance(by: .seconds(1))
    #expect(eventually { cache.statistics.reopenings == 1 })
    let expected = harm.empties ? nil : "old"
    #expect(try cache.value(String.self, forKey: "key") == expected)
    // The process dies before its next commit.
    try cache.set("new", forKey: "new")
    let survivor = try directory.crashed(cache).open()
    #expect(try survivor.value(String.self, forKey: "new") == "new")
    #expect(try survivor.value(String.self, forKey: "key") == expected)
    try survivor.close()
    try cache.close()
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
    #expect(try cache.value(String.self, forKey: "key") == "new")
    #expect(try cache.count == 1)
    try cache.close()
  }

  #if os(Linux)
    /// The places of this process's locks that another owner, such as an open file, would meet.
    private func locks(by descriptor: Int32) throws -> [off_t] {
      var places: [off_t] = []
      var lock = flock()
      repeat {
        lock = flock(
          l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: lock.l_start + lock.l_len, l_len: 0, l_pid: 0)
        // F_OFD_GETLK, which Swift does not import.
        try #require(fcntl(descriptor, 36, &lock) == 0)
        if lock.l_type != Int16(F_UNLCK) { places.append(lock.l_start) }
      } while lock.l_type != Int16(F_UNLCK) && lock.l_len > 0
      return places
    }

    /// LMDB's locks on its lock file. Closing any descriptor of the file would release them, and other processes would
    /// take this one for dead.
    @Test(arguments: ["processes.lock", "journals"]) func goingOverToOtherFilesKeepsThem(_ name: String) throws {
      let cache = try directory.open()
      try cache.set("value", forKey: "key")
      try cache.flush()
      #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "value")
      // Closed after the cache, since that releases the locks.
      let descriptor = open(directory.path + "/lock.mdb", O_RDWR)
      defer { close(descriptor) }
      let before = try locks(by: descriptor)
      #expect(before.contains(off_t(getpid())))
      try FileManager.default.removeItem(atPath: directory.path + "/" + name)
      #expect(eventually { FileManager.default.fileExists(atPath: directory.path + "/" + name) })
      try cache.flush()
      #expect(try locks(by: descriptor) == before)
      #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "value")
      try cache.close()
    }
  #endif
}
