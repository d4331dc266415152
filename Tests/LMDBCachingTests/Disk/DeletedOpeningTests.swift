import Dispatch
import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

/// Directories that somebody deletes while a store is opened in them, or goes over to another one.
@Suite struct DeletedOpeningTests {
  let directory = CacheDirectory()

  private func delete() { try! FileManager.default.removeItem(atPath: directory.path) }

  /// Opens the directory as a cache does, and calls `body` where that applies the journals of dead processes.
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

  /// Whatever becomes of an opening that went over to another directory, it ends for everybody.
  @Test(arguments: [false, true]) func theNextOpeningWaitsForNobody(_ fails: Bool) throws {
    var first: DiskStore?
    let code = errorCode {
      first = try open { (store) throws(CacheError) in
        delete()
        // As the first transaction does.
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

  /// Who waits for the opening has the old directory open, in which nothing can be made any more.
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

  /// An attempt that fails has claimed a directory, and that may be deleted as well.
  @Test func aStoreIsFoundWhereItsLastAttemptWent() throws {
    let cache = try directory.open(neverCommitting)
    let store = cache.store
    try store.onWriterThread { [directory] in
      // Opening the files anew begins with a lock.
      let session = FaultInjection.begin(.directory(directory.path), [.init(.flock, returns: EIO)])
      for isFailing in [true, false] {
        try! FileManager.default.removeItem(atPath: directory.path)
        let code = errorCode { try store.place.bringFilesIntoPlace() }
        #expect((code != nil) == isFailing)
      }
      #expect(FaultInjection.end(session).triggered == 1)
      return .success(())
    }
    // There it can be told by its identity alone.
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
    /// A backup is put into its place while somebody waits to open it: that is what is opened.
    @Test func anOpeningThatHasWaitedOpensWhatIsThereThen() throws {
      let (other, former) = (CacheDirectory(), CacheDirectory())
      for (place, value) in [(directory, "old"), (other, "new")] {
        let cache = try place.open()
        try cache.set(value, forKey: "key")
        try cache.close()
      }
      // As one who restores does.
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
      // It has the directory open, and its lock's descriptor: it waits.
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
