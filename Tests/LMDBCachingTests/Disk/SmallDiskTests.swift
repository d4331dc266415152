#if os(Linux)
  import Foundation
  import Glibc
  import LMDBCaching
  import TestSupport
  import Testing

  /// A cache on its own file system of a few megabytes. Mounting requires root.
  @Suite(.enabled(if: geteuid() == 0), .serialized) struct SmallDiskTests {
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

      /// Fills the file system, except for `rest` bytes.
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
      let size = try cache.disk.size
      #expect(size < 1 << 20, "\(size) bytes")
      try cache.close()
    }

    @Test func healthNamesTheRoomAndTheSetting() throws {
      let disk = try SmallDisk(1 << 20)
      let cache = try LMDBCache(directory: disk.url, configuration: Self.configuration().withoutMemory)
      try disk.fill(leaving: 100 << 10)
      defer { _ = errorCode { try cache.close() } }
      let free = disk.free
      try cache.set("x", forKey: "key")
      #expect(try cache.value(String.self, forKey: "key") == "x")
      guard case .memoryOnly(let error) = cache.health, error.code == .noSpace else {
        Issue.record("\(cache.health)")
        return
      }
      for part in ["266240 bytes", "journalSize", "\(free) bytes are free"] {
        #expect(error.message.contains(part), "\(error.message)")
      }
    }

    enum Removal: CaseIterable { case all, prefix, cost, reopened, full }

    /// LMDB writes new pages before it frees old ones.
    @Test(arguments: Removal.allCases, [100, 1_500, 20_000])
    func aDiskThatTheCacheHasFilledIsFreedByIt(_ removal: Removal, _ length: Int) throws {
      // Single commits of short values are slow.
      if removal == .full && length < 1_000 { return }
      let disk = try SmallDisk(6 << 20)
      let configuration = Self.configuration { if removal == .full { $0.durability = .full } }
      var cache = try LMDBCache(directory: disk.url, configuration: configuration.withoutMemory)
      var random = SeededRandom(UInt64(length))
      var number = 0
      func fill() {
        // Values that do not fit wait in the journal until it is full.
        var failures = 0
        while failures < 200 {
          let value = random.bytes(failures > 0 ? 10 : length)
          if errorCode({ try cache.set(value, forKey: "key\(random.below(1_000_000))") }) != nil { failures += 1 }
          number += 1
        }
        for _ in 0..<20 { _ = errorCode { try cache.flush() } }
      }
      for round in 0..<2 {
        fill()
        try #require(disk.free < 256 << 10)
        if removal == .reopened {
          _ = errorCode { try cache.close() }
          cache = try LMDBCache(directory: disk.url, configuration: configuration.withoutMemory)
        }
        var failures = 0
        let isFreed = eventually(within: .seconds(20)) {
          let failure = errorCode {
            switch removal {
            case .all, .reopened, .full: try cache.removeAll()
            case .prefix: try cache.removeAll(.prefix(""))
            case .cost: try cache.trim(to: .cost(0))
            }
          }
          if failure != nil { failures += 1 }
          return failure == nil && (try? cache.count) == 0
        }
        // What waits may need the room that the first attempt makes.
        #expect(isFreed && (failures == 0 || removal == .prefix), "\(round): \(failures) failures")
        let value = random.bytes(100_000)
        // Upkeep returns the rest of the space.
        let isStored = eventually(within: .seconds(20)) {
          errorCode {
            try cache.set(value, forKey: "after")
            try cache.flush()
          } == nil
        }
        #expect(isStored, "\(round): \(disk.free) bytes are free")
        #expect(try cache.value([UInt8].self, forKey: "after") == value)
        #expect(cache.health.isHealthy, "\(cache.health)")
      }
      try cache.close()
    }
  }
#endif
