#if os(Linux)
  import Foundation
  import Platform
  import TestSupport
  import Testing

  /// Directories that another process sees elsewhere, as one does that runs in a container.
  @Suite struct OtherRootTests {
    let folder = TemporaryFolder()

    /// A process with mounts of its own: a file system in the place of `mount`, with a directory `inner`. `nil` where the
    /// system allows no such process.
    private func process(mount: String) throws -> (LaunchedProcess, FileHandle)? {
      let (input, output) = (Pipe(), Pipe())
      let script = "mount -t tmpfs none '\(mount)' && mkdir '\(mount)/inner' && echo ready && read line"
      let process = try LaunchedProcess(
        URL(fileURLWithPath: "/usr/bin/unshare"), ["--map-root-user", "--mount", "/bin/sh", "-c", script],
        input: input.fileHandleForReading, output: output.fileHandleForWriting, errors: .nullDevice)
      try output.fileHandleForWriting.close()
      try input.fileHandleForReading.close()
      let answer = try output.fileHandleForReading.read(upToCount: 5)
      guard answer == Data("ready".utf8) else { return nil }
      return (process, input.fileHandleForWriting)
    }

    @Test(.enabled(if: access("/usr/bin/unshare", X_OK) == 0, "it takes util-linux"))
    func oneIsOpenedByThePathThatItHasHere() throws {
      let mount = folder.path + "/mount"
      // The same name is here, too, and is another directory.
      _ = try folder.directory.makeSubdirectory("mount").makeSubdirectory("inner")
      guard let (process, input) = try process(mount: mount) else { return }
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
