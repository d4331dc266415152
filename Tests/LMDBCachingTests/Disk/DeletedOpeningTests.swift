import Dispatch
import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// Directories deleted while a store opens them or switches to another one.
@Suite struct DeletedOpeningTests {
  let directory = CacheDirectory()

  private func delete() { try! FileManager.default.removeItem(atPath: directory.path) }

  /// Opens the directory like a cache, and calls `body` when journals of dead processes are applied.
  private func open(_ body: (DiskStore) throws(CacheError) -> Void) throws(CacheError) -> DiskStore {
    let configuration = CacheDirectory.configuration(neverCommitting)
    return try OpenDirectories.open(
      { () throws(CacheError) in
        try LMDBCaching.CacheDirectory(path: directory.path, allowsOtherUsers: false)
      },
      share: { (store) throws(CacheError) in try store.share(configuration) },
      make: { (cache) throws(CacheError) in
        let events = LMDBCaching.EventLog(configuration.logger)
        let opened = try StoreOpening(cache: cache, configuration: configuration, events: events).run()
        let store = DiskStore(opened, configuration, DatabaseKey(), events: events)
        do throws(CacheError) {
          try body(store)
          try store.writer.start()
        } catch {
          opened.environment.close()
          throw error
        }
        return store
      })
  }

  @Test(arguments: [false, true]) func theNextOpeningWaitsForNobody(_ fails: Bool) throws {
    var first: DiskStore?
    let code = errorCode {
      first = try open { (store) throws(CacheError) in
        delete()
        // The first transaction does this.
        try store.place.bringFilesIntoPlace()
        if fails { throw CacheError(.noSpace, "There is no room for what a dead process wrote.") }
      }
    }
    #expect(code == (fails ? .noSpace : nil))

    let next = Guarded<LMDBCache?>(nil)
    let isOpened = finishes { [directory] in
      let cache = try? directory.open(neverCommitting)
      next { $0 = cache }
    }
    #expect(isOpened)
    let cache = try #require(next.current)
    #expect((cache.store === first) == !fails)
    try cache.set("v", forKey: "key")
    try first?.release()
    #expect(try cache.value(String.self, forKey: "key") == "v")
    try cache.close()
    #expect(directory.journals.isEmpty)
    let again = try directory.open(neverCommitting)
    #expect(again.store !== cache.store)
    #expect(try again.value(String.self, forKey: "key") == "v")
    try again.close()
  }

  /// The waiter has the old directory open, where no file can be created any more.
  @Test func whoWaitedLooksAgain() throws {
    let (group, hasLooked) = (DispatchGroup(), DispatchSemaphore(value: 0))
    let waiting = Guarded<Result<DiskStore, CacheError>?>(nil)
    let first = try open { (store) throws(CacheError) in
      inBackground(group) { [directory] in
        let result = outcome { () throws(CacheError) -> DiskStore in
          try OpenDirectories.open(
            { () throws(CacheError) in
              defer { hasLooked.signal() }
              return try LMDBCaching.CacheDirectory(path: directory.path, allowsOtherUsers: false)
            },
            share: { (_) throws(CacheError) in },
            make: { (_) throws(CacheError) -> DiskStore in
              throw CacheError(.storageFailed, "It was taken for a directory that nobody has open.")
            })
        }
        waiting { $0 = result }
      }
      hasLooked.wait()
      delete()
      try store.place.bringFilesIntoPlace()
    }
    #expect(group.wait(timeout: .now() + .seconds(60)) == .success)
    let second = try #require(waiting.current).get()
    #expect(second === first)
    try second.release()
    try first.release()
  }

  /// A failed attempt has claimed a directory, which may be deleted as well.
  @Test func aStoreIsFoundWhereItsLastAttemptWent() throws {
    let cache = try directory.open(neverCommitting)
    let store = cache.store
    try store.onWriterThread { [directory] in
      // Reopening the files begins with a lock.
      let session = FaultInjection.begin(.directory(directory.path), [.init(.flock, returns: EIO)])
      for isFailing in [true, false] {
        try! FileManager.default.removeItem(atPath: directory.path)
        let code = errorCode { try store.place.bringFilesIntoPlace() }
        #expect((code != nil) == isFailing)
      }
      #expect(FaultInjection.end(session).triggered == 1)
      return .success(())
    }
    // At the new path only its identity matches.
    let moved = directory.path + ".moved"
    try Paths.move(directory.path, to: moved)
    defer { try? FileManager.default.removeItem(atPath: moved) }
    let second = try DiskStore.open(
      directory: moved, configuration: CacheDirectory.configuration(neverCommitting))
    #expect(second === store)
    try second.release()
    try cache.close()
  }

  #if os(Linux)
    /// A backup restored while another caller waits to open the cache is what that caller opens.
    @Test func anOpeningThatHasWaitedOpensWhatIsThereThen() throws {
      let (other, former) = (CacheDirectory(), CacheDirectory())
      for (place, value) in [(directory, "old"), (other, "new")] {
        let cache = try place.open()
        try cache.set(value, forKey: "key")
        try cache.close()
      }
      // Takes the lock that a restore takes.
      let lock = try FileLock(Directory(path: directory.path))
      #expect(try lock.tryLock(.exclusive))
      let (found, group) = (Guarded<String?>(nil), DispatchGroup())
      inBackground(group) { [directory] in
        do {
          let cache = try directory.open()
          let value = try cache.value(String.self, forKey: "key")
          found { $0 = value }
          try cache.close()
        } catch { Issue.record(error) }
      }
      // With the directory and the lock open, it waits.
      #expect(eventually { descriptors(of: directory.path) >= 3 })
      try Paths.move(directory.path, to: former.path + "/moved")
      try Paths.move(other.path, to: directory.path)
      try lock.unlock()
      group.wait()
      #expect(found.current == "new")
    }

    private func descriptors(of path: String) -> Int {
      let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return descriptors.count {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)) == path
      }
    }
  #endif
}
