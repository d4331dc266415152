import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct LifeCycleTests {
  let directory = CacheDirectory()

  /// Another process delays the closing store's last commit.
  @Test func anOpeningWaitsForTheSameDirectorysClosing() throws {
    let setUp = try directory.open()
    try setUp.set("old", forKey: "key")
    try setUp.close()
    let other = try cacheProcess()
    #expect(other.run("open \(directory.path)") == "ok")
    let closing = try directory.open {
      neverCommitting(&$0)
      $0.disk.lockTimeout = .milliseconds(400)
    }
    #expect(other.run("stopwriting") == "stopping")
    other.awaitSuspension()
    try closing.set("new", forKey: "key")
    let group = DispatchGroup()
    inBackground(group) {
      // Closing may time out; the write is in the journal.
      do throws(CacheError) { try closing.close() } catch { #expect(error.code == .notCommitted) }
    }
    #expect(eventually { errorCode { try closing.value(String.self, forKey: "key") } == .closed })
    let seen = Guarded<String?>("nothing yet")
    let isDone = finishes { [directory] in
      let result = Result { () throws -> String? in
        let cache = try directory.open { $0.disk.lockTimeout = .milliseconds(400) }
        defer { try? cache.close() }
        return try cache.value(String.self, forKey: "key")
      }
      seen { $0 = try? result.get() }
    }
    #expect(isDone)
    // The acknowledged value, or an error, but never the value it replaced.
    #expect(seen.current != "old")
    other.resume()
    other.kill()
    group.wait()
    let cache = try directory.open()
    #expect(try cache.value(String.self, forKey: "key") == "new")
    try cache.close()
  }

  @Test func aRenamedDirectoryAndANewOneInItsPlaceAreTwoCaches() throws {
    let (old, moved) = (directory.path + "/cache", directory.path + "/moved")
    func open() throws -> LMDBCache {
      try LMDBCache(
        directory: URL(fileURLWithPath: old), configuration: CacheDirectory.configuration { $0.memory.countLimit = 0 })
    }
    let first = try open()
    try first.set("of the first", forKey: "before")
    try first.flush()
    #expect(rename(old, moved) == 0)
    let second = try open()
    #expect(try second.value(String.self, forKey: "before") == nil)
    try second.set("of the second", forKey: "theirs")
    try second.flush()
    // It goes on with its moved files, or fails.
    let code = errorCode {
      try first.set("of the first", forKey: "after")
      try first.flush()
      let before = try first.value(String.self, forKey: "before")
      #expect(before == "of the first")
      let after = try first.value(String.self, forKey: "after")
      #expect(after == "of the first")
    }
    #expect(code != .storageFailed)
    #expect((try? first.value(String.self, forKey: "theirs")) == .some(nil) || code != nil)
    #expect((try? first.value(String.self, forKey: "theirs")) != "of the second")
    #expect(try second.value(String.self, forKey: "after") == nil)
    #expect(try second.entries().map(\.key) == ["theirs"])
    try? first.close()
    try second.close()
    // Earlier commits moved with the directory.
    let renamed = try LMDBCache(
      directory: URL(fileURLWithPath: moved), configuration: CacheDirectory.configuration())
    #expect(try renamed.value(String.self, forKey: "before") == "of the first")
    #expect(try renamed.value(String.self, forKey: "theirs") == nil)
    try renamed.close()
  }
}
