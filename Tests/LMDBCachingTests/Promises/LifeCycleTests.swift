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
}
