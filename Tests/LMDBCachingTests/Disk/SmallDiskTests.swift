#if os(Linux)
  import Foundation
  import Glibc
  import LMDBCaching
  import TestSupport
  import Testing

  /// A cache that has a file system of a few megabytes to itself. Mounting takes root.
  @Suite(.enabled(if: geteuid() == 0), .serialized) struct SmallDiskTests {
    /// Unmounted when it goes.
    private final class SmallDisk {
      let mountPoint = CacheDirectory()
      var url: URL { mountPoint.url("cache") }

      init(_ size: Int) throws {
        let status = mount("tmpfs", mountPoint.path, "tmpfs", 0, "size=\(size)")
        try #require(status == 0, "\(String(cString: strerror(errno)))")
      }

      deinit { umount2(mountPoint.path, Int32(MNT_DETACH)) }

      var free: Int {
        var status = statvfs()
        statvfs(mountPoint.path, &status)
        return Int(status.f_bavail) * Int(status.f_frsize)
      }

      /// Takes what is free, but for `rest` bytes.
      func fill(leaving rest: Int) throws {
        try Data(count: free - rest).write(to: mountPoint.url("filler"))
      }
    }

    private static func configuration(_ change: (inout CacheConfiguration) -> Void = { _ in }) -> CacheConfiguration {
      CacheDirectory.configuration {
        $0.disk.groupCommitInterval = .milliseconds(1)
        change(&$0)
      }
    }

    @Test func aCacheOfAFewEntriesNeedsKilobytes() throws {
      let disk = try SmallDisk(8 << 20)
      try disk.fill(leaving: 1 << 20)
      let cache = try LMDBCache(directory: disk.url, configuration: Self.configuration())
      try cache.set(String(repeating: "x", count: 100), forKey: "key")
      try cache.flush()
      #expect(cache.health.isHealthy, "\(cache.health)")
      #expect(try cache.diskCache.bytesOnDisk() < 600 << 10)
      try cache.close()
    }

    @Test func theErrorNamesTheRoomAndTheSetting() throws {
      let disk = try SmallDisk(1 << 20)
      let cache = try DiskCache(directory: disk.url, configuration: Self.configuration())
      try disk.fill(leaving: 100 << 10)
      defer { _ = errorCode { try cache.close() } }
      let error = #expect(throws: CacheError.self) { try cache.set("x", forKey: "key") }
      #expect(error?.code == .noSpace)
      for part in ["266240 bytes", "journalSize", "\(disk.free) bytes are free"] {
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
      }
    }
  }
#endif
