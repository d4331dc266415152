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
  /// A full disk must not end the process. The trial `full-disk` fills real ones.
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
  }
#endif
