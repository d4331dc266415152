#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import LMDBCaching

  /// LMDB's locks on its lock file. Closing any descriptor of the file would release them, and other processes would
  /// take this one for dead.
  @Suite struct LockFileTests {
    let directory = CacheDirectory()

    /// The places of this process's locks that another owner, such as an open file, would meet.
    private func locks(by descriptor: Int32) throws -> [off_t] {
      var places: [off_t] = []
      var lock = flock()
      repeat {
        lock = flock(
          l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: lock.l_start + lock.l_len, l_len: 0, l_pid: 0)
        // F_OFD_GETLK, which Swift does not import.
        try #require(fcntl(descriptor, 36, &lock) == 0)
        if lock.l_type != Int16(F_UNLCK) { places.append(lock.l_start) }
      } while lock.l_type != Int16(F_UNLCK) && lock.l_len > 0
      return places
    }

    @Test(arguments: ["processes.lock", "journals"]) func goingOverToOtherFilesKeepsThem(_ name: String) throws {
      let cache = try directory.open()
      try cache.set("value", forKey: "key")
      try cache.flush()
      #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "value")
      // Closed after the cache, since that releases the locks.
      let descriptor = open(directory.path + "/lock.mdb", O_RDWR)
      defer { close(descriptor) }
      let before = try locks(by: descriptor)
      #expect(before.contains(off_t(getpid())))
      try FileManager.default.removeItem(atPath: directory.path + "/" + name)
      #expect(eventually { FileManager.default.fileExists(atPath: directory.path + "/" + name) })
      try cache.flush()
      #expect(try locks(by: descriptor) == before)
      #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "value")
      try cache.close()
    }
  }
#endif
