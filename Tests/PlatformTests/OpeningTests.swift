import Platform
import Testing

/// Other kinds of files in place of a regular one.
@Suite struct OpeningTests {
  let folder = TemporaryFolder()

  enum Intruder: String, CaseIterable, Sendable {
    case link, danglingLink, directory, fifo, socket

    var kind: FileKind {
      switch self {
      case .link, .danglingLink: .symbolicLink
      case .directory: .directory
      case .fifo: .fifo
      case .socket: .socket
      }
    }

    func make(at path: String, victim: String) {
      switch self {
      case .link: #expect(symlink(victim, path) == 0)
      case .danglingLink: #expect(symlink(victim + ".none", path) == 0)
      case .directory: #expect(mkdir(path, 0o700) == 0)
      case .fifo: #expect(mkfifo(path, 0o600) == 0)
      case .socket:
        #if canImport(Glibc)
          #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        #endif
      }
    }
  }

  @Test(arguments: Intruder.allCases) func nothingButARegularFileIsOpened(_ intruder: Intruder) throws {
    let directory = folder.directory
    try folder.write("victim", to: "victim")
    intruder.make(at: folder.path + "/data", victim: folder.path + "/victim")
    let errors = [
      failure { () throws(SystemError) in _ = try directory.opens("data") },
      failure { () throws(SystemError) in _ = try directory.opens("data", .writing) },
      failure { () throws(SystemError) in try directory.makes("data") },
      failure { () throws(SystemError) in try directory.makes("data", .emptying) },
    ]
    for error in errors {
      #expect(error?.finding == .kind(intruder.kind))
      #expect(error?.description.contains(folder.path + "/data is \(intruder.kind)") == true)
    }
    #expect(failure { () throws(SystemError) in try directory.makes("data", .exclusively) } != nil)
    #expect(try directory.kind(of: "data") == intruder.kind)
    #expect(try folder.text(of: "victim") == "victim")
    #expect(try directory.kind(of: "victim.none") == nil)
    if intruder != .directory {
      #expect(throws: SystemError.self) { try directory.subdirectory("data") }
      #expect(throws: SystemError.self) { try directory.makeSubdirectory("data") }
    }
    try directory.removeTree("data")
    #expect(try directory.kind(of: "data") == nil)
  }

  @Test func aFileWithTwoNamesIsRefusedWhereItHasToBeOurs() throws {
    try folder.write("theirs", to: "theirs")
    #expect(link(folder.path + "/theirs", folder.path + "/ours") == 0)
    let directory = folder.directory
    #expect(
      failure { () throws(SystemError) in
        _ = try directory.opens("ours", .writing, requiresOneName: true)
      }?.finding == .names(2))
    // A file is checked before it is truncated.
    #expect(
      failure { () throws(SystemError) in try directory.makes("ours", .emptying) }?.finding == .names(2))
    #expect(try folder.text(of: "theirs") == "theirs")
    #expect(try directory.status(of: "ours")?.linkCount == 2)
    try directory.remove("theirs")
    _ = try directory.create("ours", .emptying, requiresOneName: true)
    #expect(try folder.text(of: "ours") == "")
  }

  @Test(arguments: ["", ".", "..", "a/b", "/etc/passwd", "../x", "a\0b"]) func whatIsNoNameIsRefused(_ name: String) {
    let directory = folder.directory
    let errors = [
      failure { () throws(SystemError) in _ = try directory.opens(name) },
      failure { () throws(SystemError) in try directory.makes(name) },
      failure { () throws(SystemError) in try directory.removeTree(name) },
      failure { () throws(SystemError) in try directory.rename("x", to: name) },
      failure { () throws(SystemError) in _ = try directory.subdirectory(name) },
    ]
    for error in errors { #expect(error?.finding == .name) }
  }

  @Test func missingThingsAreNil() throws {
    let directory = folder.directory
    #expect(try !directory.opens("none"))
    #expect(try directory.subdirectory("none") == nil && directory.status(of: "none") == nil)
    #expect(try Directory(existing: folder.path + "/none") == nil)
    try directory.remove("none")
    try directory.removeTree("none")
    #expect(failure { () throws(SystemError) in _ = try Directory(path: folder.path + "/none") }?.errno == ENOENT)
  }
}
