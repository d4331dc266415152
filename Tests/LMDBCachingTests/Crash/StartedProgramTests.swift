#if canImport(Glibc)
  import Foundation
  import Glibc
  import LMDBCaching
  import TestSupport
  import Testing

  @Suite struct StartedProgramTests {
    /// The data and lock files, the journal, the process lock and the value files.
    @Test func aProcessThatIsStartedSeesNoneOfTheFiles() throws {
      let directory = CacheDirectory()
      let cache = try directory.open {
        $0.disk.inlineThreshold = 1_000
        $0.memory.countLimit = 0
      }
      try cache.set("value", forKey: "key")
      // LMDB's files, the journal and the lock are always open; the others come and go.
      #expect(Set(directory.openFiles()).isSuperset(of: ["data.mdb", "lock.mdb", "processes.lock"]))
      #expect(directory.openFiles().contains { $0.hasPrefix("journals/") })
      let isDone = Guarded(false)
      let group = DispatchGroup()
      inBackground(group) {
        var number = 0
        while !isDone.current {
          do {
            try cache.set(Data(count: 100_000 + number), forKey: "long")
            _ = try cache.value(Data.self, forKey: "long")
          } catch { Issue.record(error) }
          number += 1
        }
      }
      for _ in 0..<40 {
        let seen = try filesSeenByChild(in: directory.path)
        #expect(seen.isEmpty, "\(seen)")
      }
      isDone { $0 = true }
      group.wait()
      try cache.close()
    }

    /// A bare `posix_spawn` closes no descriptors.
    private func filesSeenByChild(in directory: String) throws -> [String] {
      let output = directory + ".fds"
      defer { unlink(output) }
      let words = ["/bin/sh", "-c", "readlink /proc/$$/fd/* > '\(output)' || true"]
      var arguments: [UnsafeMutablePointer<CChar>?] = words.map { (word: String) in strdup(word) }
      arguments.append(nil)
      defer { for argument in arguments { free(argument) } }
      var child: pid_t = 0
      let status = posix_spawn(&child, "/bin/sh", nil, nil, &arguments, environ)
      try #require(status == 0)
      var ending: Int32 = 0
      while waitpid(child, &ending, 0) < 0 && errno == EINTR {}
      let lines = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").map(String.init)
      #expect(!lines.isEmpty)
      return lines.filter { $0.hasPrefix(directory + "/") }
    }
  }
#endif
