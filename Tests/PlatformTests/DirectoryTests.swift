import Platform
import TestSupport
import Testing

@Suite struct DirectoryTests {
  let folder = TemporaryFolder()

  @Test func missingParentsAreMade() throws {
    let directory = try Directory(path: folder.path + "/a/b//c/", creating: true, synchronized: true)
    #expect(directory.path == folder.path + "/a/b/c")
    #expect(try directory.status().mode == 0o700)
    #expect(try folder.directory.subdirectory("a")?.status().mode == 0o700)
    #expect(try directory.isOwnedByUser())
    for (mode, isWritable) in [(0o700, false), (0o777, true), (0o1777, true), (0o770, true)] {
      #expect(chmod(directory.path, mode_t(mode)) == 0)
      #expect(try directory.isWritableByOthers() == isWritable)
    }
    let again = try Directory(path: folder.path + "/a/b/c", creating: true)
    #expect(again.identity == directory.identity)
    try folder.write("x", to: "file")
    #expect(
      failure { () throws(SystemError) in _ = try Directory(path: folder.path + "/file", creating: true) }?.errno
        == ENOTDIR)
  }

  @Test func aPathWithLinksLeadsToTheDirectoryItself() throws {
    let real = try folder.directory.makeSubdirectory("real")
    #expect(symlink(real.path, folder.path + "/link") == 0)
    let linked = try Directory(path: folder.path + "/link/../link")
    #expect(linked.path == real.path)
    #expect(linked.identity == real.identity)
  }

  @Test func aRenamedDirectoryStaysTheSame() throws {
    let open = try folder.directory.makeSubdirectory("cache")
    try open.create("first").write([1])
    try folder.directory.rename("cache", to: "moved")
    let other = try folder.directory.makeSubdirectory("cache")
    #expect(try !open.isStillAtItsPath() && other.isStillAtItsPath())
    try open.rename("first", to: "second")
    _ = try open.makeSubdirectory("inner").create("third")
    let moved = try #require(try folder.directory.subdirectory("moved"))
    #expect(try Set(moved.names()) == ["second", "inner"] && other.names() == [])
    #if os(Linux)
      #expect(try Directory(path: open.pathForC).identity == open.identity)
    #endif
    try open.removeTree("inner")
    try open.rename("second", to: other, as: "fourth")
    #expect(try open.names() == [] && other.names() == ["fourth"])
  }

  @Test func treesAreRemovedAndLinksAreNotFollowed() throws {
    let victim = try folder.directory.makeSubdirectory("victim")
    try victim.create("precious").write([1])
    var deepest = try folder.directory.makeSubdirectory("tree")
    for level in 0..<20 {
      #expect(symlink(victim.path, deepest.path + "/link") == 0)
      try deepest.create("file").write([UInt8](repeating: 1, count: 5000))
      deepest = try deepest.makeSubdirectory("level \(level)")
    }
    #expect(try folder.directory.allocatedBytes() >= 20 * 5000)
    try folder.directory.removeTree("tree")
    #expect(try folder.directory.names() == ["victim"])
    #expect(try victim.names() == ["precious"])
  }

  @Test func aTreeThatIsTooDeepIsAnError() throws {
    var deepest = folder.directory
    for _ in 0..<80 { deepest = try deepest.makeSubdirectory("d") }
    #expect(failure { () throws(SystemError) in try folder.directory.removeTree("d") }?.errno == ENAMETOOLONG)
    var middle = folder.directory
    for _ in 0..<40 { middle = try #require(try middle.subdirectory("d")) }
    try middle.removeTree("d")
    try folder.directory.removeTree("d")
    #expect(try folder.directory.isEmpty())
  }

  @Test func theLongestNameAndNamesThatAreNoText() throws {
    let inner = try folder.directory.makeSubdirectory("inner")
    let longest = String(repeating: "n", count: 255)
    try inner.makes(longest)
    #expect(failure { () throws(SystemError) in try inner.makes(longest + "n") }?.errno == ENAMETOOLONG)
    let made = ([UInt8](inner.path.utf8) + [0x2F, 0x61, 0xFF, 0]).withUnsafeBytes {
      open($0.baseAddress!.assumingMemoryBound(to: CChar.self), O_CREAT | O_WRONLY, 0o600)
    }
    // Some file systems reject such names.
    guard made >= 0 else { return }
    close(made)
    var others: [String] = []
    try inner.forEachUnreadableName { others.append($0) }
    #expect(others == ["a\u{FFFD}"])
    #expect(try inner.names() == [longest])
    try inner.remove(longest)
    #expect(try inner.names() == [] && !inner.isEmpty())
    try folder.directory.removeTree("inner")
    #expect(try folder.directory.kind(of: "inner") == nil)
  }

  #if os(Linux)
    @Test(arguments: [
      ("nfs", true), ("nfs4", true), ("cifs", true), ("9p", true), ("ceph", true), ("fuse.sshfs", true),
      ("ext4", false), ("xfs", false), ("tmpfs", false), ("overlay", false), ("fuse.portal", false),
    ])
    func remoteFileSystemsAreKnown(_ type: String, _ isRemote: Bool) throws {
      let mounts = """
        22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
        40 22 0:44 / /mnt/share rw,relatime shared:7 master:3 - \(type) server:/export rw,vers=4.2
        """
      #expect(Directory.isRemote(device: "0:44", mountInfo: Array(mounts.utf8)) == isRemote)
      #expect(!Directory.isRemote(device: "8:1", mountInfo: Array(mounts.utf8)))
      #expect(!Directory.isRemote(device: "9:9", mountInfo: Array(mounts.utf8)))
      #expect(try !folder.directory.isRemote())
    }
  #endif
}
