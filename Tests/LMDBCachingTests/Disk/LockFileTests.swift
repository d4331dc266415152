#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import LMDBCaching

  /// LMDB's locks on its lock file. Closing any descriptor of the file would release them, and other processes would
  /// take this one for dead.
  @Suite struct LockFileTests {
    let directory = CacheDirectory()

    /// Returns how many locks this process has on the file.
    private func locks() throws -> Int {
      var status = stat()
      try #require(lstat(directory.path + "/lock.mdb", &status) == 0)
      // The list is read in parts, and may miss locks that move while other tests lock files.
      var found: Set<[Substring]> = []
      for _ in 0..<20 {
        let list = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
        for line in list.split(separator: "\n") {
          // 1: POSIX  ADVISORY  READ 1234 08:01:5678 0 0
          let words = Array(line.split(separator: " ").dropFirst())
          if words.count > 4, words[0] == "POSIX", words[3] == "\(getpid())",
            words[4].hasSuffix(":\(status.st_ino)")
          {
            found.insert(words)
          }
        }
      }
      return found.count
    }

    @Test(arguments: ["processes.lock", "journals"]) func goingOverToOtherFilesKeepsThem(_ name: String) throws {
      let cache = try directory.open()
      try cache.set("value", forKey: "key")
      try cache.flush()
      #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "value")
      let before = try locks()
      #expect(before > 0)
      try FileManager.default.removeItem(atPath: directory.path + "/" + name)
      #expect(eventually { FileManager.default.fileExists(atPath: directory.path + "/" + name) })
      try cache.flush()
      #expect(try locks() == before)
      #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "value")
      try cache.close()
    }
  }
#endif
