#if canImport(Glibc)
  import Foundation
  import Glibc
  import LMDBCaching
  import TestSupport
  import Testing

  @Suite struct CacheForkTests {
    private func code(_ body: () throws(CacheError) -> Void) -> CacheError.Code? {
      do throws(CacheError) {
        try body()
        return nil
      } catch {
        return error.code
      }
    }

    @Test func theChildIsRefusedAndHarmsNothing() throws {
      let directory = CacheDirectory()
      let cache = try LMDBCache(directory: directory.url)
      try cache.set(1, forKey: "committed")
      try cache.flush()
      try cache.set(2, forKey: "pending")
      try cache.setObject(NSString("text"), forKey: "object")
      let result = inForkedChild {
        guard code({ () throws(CacheError) in try cache.set(3, forKey: "child") }) == .forked else { return 1 }
        guard code({ () throws(CacheError) in try cache.removeAll() }) == .forked else { return 2 }
        guard code({ () throws(CacheError) in _ = try cache.value(Int.self, forKey: "absent") }) == .forked else {
          return 3
        }
        guard code({ () throws(CacheError) in _ = try cache.entries() }) == .forked else { return 4 }
        // What is in memory, too: the parent may have stored something newer since.
        let keys = ["committed", "pending"]
        for key in keys {
          guard code({ () throws(CacheError) in _ = try cache.value(Int.self, forKey: key) }) == .forked else {
            return 7
          }
          guard errorCode({ try cache.value(Int.self, forKey: key, load: { 5 }) }) == .forked else { return 8 }
        }
        guard code({ () throws(CacheError) in _ = try cache.values(Int.self, forKeys: keys) }) == .forked else {
          return 9
        }
        guard code({ () throws(CacheError) in _ = try cache.object(forKey: "object") }) == .forked else { return 10 }
        guard !cache.health.isHealthy else { return 5 }
        return code({ () throws(CacheError) in try cache.close() }) == nil ? 0 : 6
      }
      #expect(result == 0)
      #expect(cache.health.isHealthy)
      try cache.set(4, forKey: "later")
      #expect(try cache.entries().map(\.key) == ["committed", "later", "object", "pending"])
      try cache.close()
    }

    /// Is refused, then closes the cache; 0 in a forked child.
    private func ending(of cache: LMDBCache) -> Int32 {
      let refusal = code { () throws(CacheError) in _ = try cache.value(Int.self, forKey: "key") }
      let failure = code { () throws(CacheError) in try cache.close() }
      return failure != nil ? 1 : refusal != .forked ? 2 : 0
    }

    /// Whatever locks the threads of the parent hold at that moment, the child waits for none.
    @Test func theChildOfABusyParentClosesItsCache() throws {
      let directories = [CacheDirectory(), CacheDirectory()]
      let cache = try directories[0].open()
      try cache.set(1, forKey: "key")
      // In the parent first: see limitForkedChild().
      let other = try directories[1].open()
      try other.close()
      #expect(ending(of: other) == 2)
      let isDone = Guarded(false)
      let failures = Guarded(0)
      let group = DispatchGroup()
      for thread in 0..<4 {
        inBackground(group) {
          var number = 0
          while !isDone.current {
            do { try cache.set(number, forKey: "\(thread) \(number % 100)") } catch { failures { $0 += 1 } }
            // Holds one lock of the memory tier after the other.
            cache.memoryCache.trim(toAge: .seconds(86_400))
            number += 1
          }
        }
      }
      var results: [Int32] = []
      while results.count < 50, results.last ?? 0 == 0 { results.append(inForkedChild { ending(of: cache) }) }
      isDone { $0 = true }
      group.wait()
      #expect(results == Array(repeating: 0, count: 50))
      #expect(failures.current == 0)
      #expect(try cache.value(Int.self, forKey: "key") == 1)
      try cache.close()
    }

    /// The child of a fork ends; what it took along of the parent's is the parent's still.
    @Test func aChildsEndLeavesTheParentsLocks() throws {
      let directory = CacheDirectory()
      let cache = try directory.open(neverCommitting)
      try cache.set("pending", forKey: "key")
      #expect(inForkedChild { 0 } == 0)
      #expect(
        inForkedChild {
          // Also when it lets go of what it took along.
          (try? cache.close()) == nil ? 1 : 0
        } == 0)
      // Nobody takes the journal for a dead one's: its writes stay the parent's to commit.
      let other = try cacheProcess()
      #expect(other.run("open \(directory.path)") == "ok")
      #expect(other.run("get key") == "nil")
      #expect(directory.journals.count == 1)
      try cache.flush()
      #expect(other.run("get key") == "pending")
      // Nor the directory for one that nobody has open.
      try cache.set("later", forKey: "key")
      #expect(try cache.value(String.self, forKey: "key") == "later")
      try cache.close()
      #expect(other.run("get key") == "later")
    }

    /// A lock lives as long as somebody has its descriptor: a child that lives on must not keep it.
    @Test func aDeadParentsWritesAreBroughtInWhileItsChildLives() throws {
      let directory = CacheDirectory()
      let parent = try cacheProcess()
      #expect(parent.run("open \(directory.path) interval=86400000") == "ok")
      #expect(parent.run("set key value") == "ok")
      let child = try #require(parent.run("fork").flatMap { pid_t($0) })
      defer { kill(child, SIGKILL) }
      parent.kill()
      #expect(kill(child, 0) == 0)
      let cache = try directory.open()
      #expect(try cache.value(String.self, forKey: "key") == "value")
      #expect(cache.statistics.replayedWrites == 1)
      try cache.close()
    }

    /// Whatever is open at any moment: data and lock file, journal, the processes' lock, values' files.
    @Test func aProcessThatIsStartedSeesNoneOfTheFiles() throws {
      let directory = CacheDirectory()
      let cache = try directory.open {
        $0.disk.inlineThreshold = 1_000
        $0.memory.countLimit = 0
      }
      try cache.set("value", forKey: "key")
      // Those of LMDB, the journal and the lock are open all the time; the others come and go.
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

    /// By a bare `posix_spawn`, which closes nothing.
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
