#if os(Linux)
  import Foundation
  import Platform
  import TestSupport
  import Testing

  /// Directories seen at another path by another process, as in a container.
  @Suite struct OtherRootTests {
    let folder = TemporaryFolder()

    /// Whether this user may create a mount namespace; containers often forbid it.
    private static let mayMount: Bool = {
      let process = try? LaunchedProcess(
        URL(fileURLWithPath: "/usr/bin/unshare"),
        ["--map-root-user", "--mount", "/bin/sh", "-c", "mount -t tmpfs none /tmp"],
        input: .nullDevice, output: .nullDevice, errors: .nullDevice)
      return process?.wait() == .exit(0)
    }()

    /// A process with its own file system mounted on `mount`, with a directory `inner`.
    private func process(mount: String) throws -> (LaunchedProcess, FileHandle) {
      let (input, output) = (Pipe(), Pipe())
      let script = "mount -t tmpfs none '\(mount)' && mkdir '\(mount)/inner' && echo ready && read line"
      let process = try LaunchedProcess(
        URL(fileURLWithPath: "/usr/bin/unshare"), ["--map-root-user", "--mount", "/bin/sh", "-c", script],
        input: input.fileHandleForReading, output: output.fileHandleForWriting, errors: .nullDevice)
      try output.fileHandleForWriting.close()
      try input.fileHandleForReading.close()
      let answer = try output.fileHandleForReading.read(upToCount: 5)
      try #require(answer == Data("ready".utf8))
      return (process, input.fileHandleForWriting)
    }

    @Test(.enabled(if: mayMount, "it takes util-linux, and a system that lets this user mount"))
    func oneIsOpenedByThePathThatItHasHere() throws {
      let mount = folder.path + "/mount"
      // The same name exists here, as another directory.
      _ = try folder.directory.makeSubdirectory("mount").makeSubdirectory("inner")
      let (process, input) = try process(mount: mount)
      let path = "/proc/\(process.identifier)/root" + mount + "/inner"
      let other = try Directory(path: path)
      #expect(other.path == path)
      #expect(try other.identity != Directory(path: mount + "/inner").identity)
      _ = try other.create("file")
      #expect(try other.kind(of: "file") == .regular)
      #expect(try Directory(path: mount + "/inner").kind(of: "file") == nil)
      try input.close()
      process.wait()
    }
  }
#endif
