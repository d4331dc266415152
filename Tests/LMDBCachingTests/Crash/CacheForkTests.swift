#if canImport(Glibc)
  import Glibc
  import LMDBCaching
  import Testing

  @Suite struct CacheForkTests {
    /// Runs `body` in a forked child, and returns its result. The child dies after a while if it hangs.
    private func inChild(_ body: () -> Int32) -> Int32 {
      let child = fork()
      if child == 0 {
        alarm(20)
        _exit(body())
      }
      var status: Int32 = 0
      while waitpid(child, &status, 0) < 0 && errno == EINTR {}
      return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    }

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
      let result = inChild {
        guard code({ () throws(CacheError) in try cache.set(3, forKey: "child") }) == .forked else { return 1 }
        guard code({ () throws(CacheError) in try cache.removeAll() }) == .forked else { return 2 }
        guard code({ () throws(CacheError) in _ = try cache.value(Int.self, forKey: "absent") }) == .forked else {
          return 3
        }
        guard code({ () throws(CacheError) in _ = try cache.entries() }) == .forked else { return 4 }
        guard !cache.health.isHealthy else { return 5 }
        return code({ () throws(CacheError) in try cache.close() }) == nil ? 0 : 6
      }
      #expect(result == 0)
      #expect(cache.health.isHealthy)
      try cache.set(4, forKey: "later")
      #expect(try cache.entries().map(\.key) == ["committed", "later", "pending"])
      try cache.close()
    }
  }
#endif
