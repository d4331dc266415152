#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import LMDBCaching

  /// Values of gigabytes on a disk that is too small for them: an error, and everything stays as it was.
  ///
  /// That they fit where there is room, the trial `full-disk` shows in its long form.
  @Suite(
    .serialized,
    .disabled(if: Sanitizer.address.isActive || Sanitizer.thread.isActive, "it takes a sanitizer minutes"))
  struct LongValueTests {
    let directory = CacheDirectory()

    /// Bytes of the disk.
    static let size = 64 << 20
    /// Of the shortest value that takes more than one call to be written.
    static let twoGibibytes = 2 << 30

    /// A process with a small disk of its own, which goes with it.
    private func process() throws -> ChildProcess {
      let mount = "mount -t tmpfs -o size=\(Self.size),mode=700 tmpfs \(directory.path) && exec \"$0\""
      return try ChildProcess("CacheTestProcess", startedBy: ["unshare", "--mount", "sh", "-c", mount])
    }

    /// Bytes that are free on it.
    private func free(_ process: ChildProcess) -> Int {
      var status = statvfs()
      guard statvfs("/proc/\(process.identifier)/root\(directory.path)", &status) == 0 else { return -1 }
      return Int(status.f_bavail) * Int(status.f_frsize)
    }

    /// Refused before anything is written where the file system reserves blocks; and in the middle of it where it does not.
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
      // But for what the segment in use has reserved.
      #expect(before - free(child) < 2 << 20)
      // What fits goes on to fit, and takes the place of the shorter one.
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

    /// One byte over the limit is another error, whatever the disk has.
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
