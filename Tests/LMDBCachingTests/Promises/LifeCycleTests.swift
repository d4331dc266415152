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

  @Test func anOpeningNeverWaitsForAnotherDirectory() throws {
    let held = CacheDirectory()
    let holder = try cacheProcess()
    holder.send("stopopening \(held.path)")
    #expect(holder.readLine() == "stopping")
    holder.awaitSuspension()
    let (group, hasBegun) = (DispatchGroup(), DispatchSemaphore(value: 0))
    let code = Guarded<CacheError.Code?>(nil)
    inBackground(group) {
      hasBegun.signal()
      let found = errorCode { try held.open { $0.disk.lockTimeout = .seconds(600) }.close() }
      code { $0 = found }
    }
    hasBegun.wait()
    #if os(Linux)
      // The held opening has begun once its directory is open.
      #expect(eventually { held.openFiles().contains("") })
    #endif
    let start = ContinuousClock.now
    let cache = try directory.open()
    try cache.set("v", forKey: "key")
    try cache.close()
    let elapsed = ContinuousClock.now - start
    #expect(elapsed < .seconds(10), "\(elapsed)")
    holder.resume()
    group.wait()
    #expect(code.current == nil)
  }
}
