import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct DirectoryAccessTests {
  let directory = CacheDirectory()

  static let refusals: Set<CacheError.Code> = [.invalidDirectory, .permissionDenied, .insecureDirectory]

  private func open() -> CacheError.Code? { errorCode { try directory.open().close() } }

  enum Access: CaseIterable {
    case writableByAll, writableByAllSticky, writableByGroup, writableByOthers, ofAnotherUser

    var mode: mode_t {
      switch self {
      case .writableByAll: 0o777
      case .writableByAllSticky: 0o1777
      case .writableByGroup: 0o770
      case .writableByOthers: 0o702
      case .ofAnotherUser: 0o700
      }
    }
  }

  /// Write access to the directory controls what this process reads and where it writes.
  @Test(arguments: Access.allCases, [true, false])
  func aDirectoryThatOthersMayWriteToIsRefused(_ access: Access, _ isCache: Bool) throws {
    // chown(2) takes root.
    if access == .ofAnotherUser && getuid() != 0 { return }
    if isCache {
      let cache = try directory.open()
      try cache.set("v", forKey: "key")
      try cache.close()
    }
    #expect(chmod(directory.path, access.mode) == 0)
    if access == .ofAnotherUser { #expect(chown(directory.path, 61_234, 61_234) == 0) }
    defer { if access == .ofAnotherUser { _ = chown(directory.path, 0, 0) } }
    let before = try TreeImage(directory.path)
    let code = open()
    #expect(code.map(Self.refusals.contains) == true, "\(code.map { "\($0)" } ?? "opened")")
    let after = try TreeImage(directory.path)
    #expect(before.losses(in: after) == [])
    #expect(before.additions(in: after) == [])
  }

  /// Read access is the owner's choice, and the configuration may allow write access.
  @Test(arguments: [(0o700, false), (0o750, false), (0o755, false), (0o770, true)] as [(mode_t, Bool)])
  func otherDirectoriesAreOpened(_ mode: mode_t, _ allowsOtherUsers: Bool) throws {
    chmod(directory.path, mode)
    let cache = try directory.open { $0.disk.allowsOtherUsers = allowsOtherUsers }
    try cache.set("v", forKey: "key")
    #expect(try cache.value(String.self, forKey: "key") == "v")
    try cache.close()
  }

  /// The cache's own files are private to the owner, under any umask.
  @Test func aNewDirectoryIsItsOwnersAlone() throws {
    let outcome = try BoundedProcess.run(
      "CacheTestProcess",
      input: [
        "umask 0", "open \(directory.path)/made", "set key v", "big large 2000000", "flush", "close", "exit",
      ])
    #expect(outcome.answers == ["ok", "ok", "ok", "ok", "ok", "ok"])
    let made = directory.path + "/made"
    let names = try FileManager.default.subpathsOfDirectory(atPath: made)
    for path in [made] + names.map({ made + "/" + $0 }) {
      var status = stat()
      #expect(lstat(path, &status) == 0)
      #expect(status.st_mode & 0o077 == 0, "\(path) has mode \(String(status.st_mode & 0o777, radix: 8))")
    }
    #expect(names.contains("data.mdb"))
  }
}
