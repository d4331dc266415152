#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import LMDBCaching

  /// Gigabyte values fail on a small disk and change nothing. The trial `full-disk` stores them where they fit.
  @Suite(
    .serialized,
    .disabled(if: Sanitizer.address.isActive || Sanitizer.thread.isActive, "it takes a sanitizer minutes"))
  struct LongValueTests {
    let directory = CacheDirectory()

    /// The disk's size in bytes.
    static let size = 64 << 20
    /// The shortest value that takes more than one write call.
    static let twoGibibytes = 2 << 30

    /// A process with its own small mounted disk.
    private func process() throws -> ChildProcess {
      let mount = "mount -t tmpfs -o size=\(Self.size),mode=700 tmpfs \(directory.path) && exec \"$0\""
      return try ChildProcess("CacheTestProcess", startedBy: ["unshare", "--mount", "sh", "-c", mount])
    }

    /// The disk's free bytes.
    private func free(_ process: ChildProcess) -> Int {
      var status = statvfs()
      guard statvfs("/proc/\(process.identifier)/root\(directory.path)", &status) == 0 else { return -1 }
      return Int(status.f_bavail) * Int(status.f_frsize)
    }

    /// Fails before writing if the file system reserves blocks, and midway otherwise.
    @Test(
      .enabled(if: PlaceTests.canUnshare, "needs root, for a mount of its own"),
      arguments: ["reserving", "unreserved"], [twoGibibytes + 12_345, 1 << 32 - 1])
    func aDiskThatIsTooSmall(_ way: String, _ length: Int) throws {
      let child = try process()
      #expect(child.run("open \(directory.path) journal=1048576") == "ok")
      #expect(child.run("set stays v") == "ok")
      #expect(child.run("setlong key 1000000 reserving") == "ok")
      #expect(child.run("flush") == "ok")
      let before = free(child)
      #expect(child.run("setlong key \(length) \(way)") == "error noSpace")
      #expect(child.run("getlong key") == "1000000")
      #expect(child.run("get stays") == "v")
      #expect(child.run("health") == "healthy")
      // The segment in use may have reserved some.
      #expect(before - free(child) < 2 << 20)
      // A value that fits replaces the shorter one.
      #expect(child.run("setlong key 30000000 \(way)") == "ok")
      #expect(child.run("flush") == "ok")
      #expect(child.run("getlong key") == "30000000")
      #expect(child.run("close") == "ok")
      #expect(child.run("open \(directory.path)") == "ok")
      #expect(child.run("getlong key") == "30000000")
      #expect(child.run("get stays") == "v")
      #expect(child.run("close") == "ok")
      child.end()
    }

    /// The limit takes precedence over the disk space.
    @Test(.enabled(if: PlaceTests.canUnshare, "needs root, for a mount of its own"))
    func aValueOverTheLimit() throws {
      let child = try process()
      #expect(child.run("open \(directory.path) journal=1048576") == "ok")
      #expect(child.run("setlong key 1000000 reserving") == "ok")
      #expect(child.run("setlong key \(1 << 32) reserving") == "error invalidArgument")
      #expect(child.run("getlong key") == "1000000")
      #expect(child.run("close") == "ok")
      child.end()
    }
  }
#endif
