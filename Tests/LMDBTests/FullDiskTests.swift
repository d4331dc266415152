import Testing

@testable import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

#if os(Linux)
  /// What keeps a full disk from ending the process. The trial `full-disk` fills real ones.
  @Suite struct FullDiskTests {
    let directory = TemporaryDirectory()

    @Test(arguments: [1, 126, 1022]) func theLockFileHasNoHoles(maxReaders: UInt32) throws {
      let environment = try directory.open { $0.maxReaders = maxReaders }
      defer { environment.close() }
      var status = stat()
      #expect(stat(environment.directory + "/lock.mdb", &status) == 0)
      #expect(Int(status.st_size) > 0)
      #expect(Int(status.st_blocks) * 512 >= Int(status.st_size))
      #expect(try environment.info().maxReaders == Int(maxReaders))
    }

    /// Its system default is the end of the process.
    @Test func aLimitOfFileSizesIsAnError() async {
      await #expect(processExitsWith: .success) {
        func isBlocked() -> Int32 {
          var mask = sigset_t()
          pthread_sigmask(SIG_BLOCK, nil, &mask)
          return sigismember(&mask, SIGXFSZ)
        }
        // On a worker thread it may be.
        let wasBlocked = isBlocked()
        let directory = TemporaryDirectory()
        let environment = try directory.open { $0.mapSize = 64 << 20 }
        try environment.put([1], [1])
        func limit(_ bytes: Int) {
          var limit = rlimit()
          getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
          limit.rlim_cur = bytes == 0 ? limit.rlim_max : rlim_t(bytes)
          setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        }
        limit(64 << 10)
        for _ in 0..<3 {
          let failure = code { () throws(LMDBError) in try environment.put([UInt8](repeating: 2, count: 200_000), [2]) }
          // A write that ends at the limit is short, which LMDB calls EIO.
          if failure != .noSpace && failure != .ioError { exit(2) }
        }
        if try environment.value([1]) != [1] { exit(3) }
        let other = TemporaryDirectory()
        limit(100)
        guard code({ () throws(LMDBError) in _ = try other.open() }) != nil else { exit(4) }
        limit(0)
        try environment.put([UInt8](repeating: 2, count: 200_000), [2])
        if try environment.value([2])?.count != 200_000 { exit(5) }
        try other.open().close()
        // Nothing is left to arrive later, and the signal is let in again.
        if isBlocked() != wasBlocked { exit(6) }
        environment.close()
      }
    }
  }
#endif
