#if os(Linux)
  import Foundation
  import LMDB
  import TestSupport
  import Testing

  @testable import LMDBCaching

  @Suite struct PlaceTests {
    let directory = CacheDirectory()

    static let canUnshare = getuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/unshare")

    @Test(.enabled(if: canUnshare, "needs root, for namespaces of its own"))
    func aProcessOfAnotherNamespaceIsRefused() throws {
      let unshare = ["unshare", "--pid", "--fork", "--kill-child"]
      let cache = try directory.open()
      try cache.set("v", forKey: "key")
      let stranger = try ChildProcess("CacheTestProcess", startedBy: unshare)
      #expect(stranger.run("open \(directory.path)") == "error processNamespaceMismatch")
      let neighbour = try cacheProcess()
      #expect(neighbour.run("open \(directory.path)") == "ok")
      try cache.close()
      #expect(stranger.run("open \(directory.path)") == "error processNamespaceMismatch")
      #expect(neighbour.run("close") == "ok")
      #expect(stranger.run("open \(directory.path)") == "ok")
      #expect(stranger.run("get key") == "v")
      do throws(CacheError) {
        _ = try directory.open()
        Issue.record("opened")
      } catch {
        #expect(error.code == .processNamespaceMismatch)
        #expect(error.message.contains("pid:[\(ProcessNamespace.current)]"))
      }
      #expect(stranger.run("close") == "ok")
      try directory.open().close()
    }

    @Test(arguments: Durability.allCases) func anotherDurabilityIsRefused(_ durability: Durability) throws {
      let cache = try directory.open { $0.durability = durability }
      try cache.set("v", forKey: "key")
      for other in Durability.allCases where other != durability {
        #expect(errorCode { try directory.open { $0.durability = other } } == .durabilityMismatch)
        let child = try cacheProcess()
        #expect(child.run("open \(directory.path) durability=\(other.rawValue)") == "error durabilityMismatch")
      }
      try cache.close()
      for other in Durability.allCases where other != durability {
        #expect(errorCode { try directory.open { $0.durability = other } } == .durabilityMismatch)
      }
    }
  }
#endif
