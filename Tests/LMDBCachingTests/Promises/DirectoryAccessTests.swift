import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct DirectoryAccessTests {
  let directory = CacheDirectory()

  static let refusals: Set<CacheError.Code> = [.invalidDirectory, .permissionDenied, .insecureDirectory]

  /// Write access to the directory controls what this process reads and where it writes.
  @Test(arguments: [0o777, 0o1777, 0o770, 0o702] + (getuid() == 0 ? [nil] : []) as [mode_t?], [true, false])
  func aDirectoryThatOthersMayWriteToIsRefused(_ mode: mode_t?, _ isCache: Bool) throws {
    // nil: of another user. chown(2) takes root.
    if isCache { try directory.open().close() }
    #expect(chmod(directory.path, mode ?? 0o700) == 0)
    if mode == nil { #expect(chown(directory.path, 61_234, 61_234) == 0) }
    defer { if mode == nil { _ = chown(directory.path, 0, 0) } }
    let before = try TreeImage(directory.path)
    let code = errorCode { try directory.open().close() }
    #expect(code.map(Self.refusals.contains) == true, "\(code.map { "\($0)" } ?? "opened")")
    let after = try TreeImage(directory.path)
    #expect(before.losses(in: after) == [] && before.additions(in: after) == [])
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
      input: ["umask 0", "open \(directory.path)/made", "set key v", "big large 2000000", "flush", "close", "exit"])
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
