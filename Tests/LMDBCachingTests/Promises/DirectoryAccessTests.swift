import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct DirectoryAccessTests {
  let directory = CacheDirectory()

  static let refusals: Set<CacheError.Code> = [.invalidDirectory, .permissionDenied, .insecureDirectory]

  private func open(_ durability: Durability) -> CacheError.Code? {
    errorCode {
      let cache = try directory.open { $0.durability = durability }
      try cache.close()
    }
  }

  /// Write access to the directory controls what this process reads and where it writes.
  @Test(arguments: [0o777, 0o1777, 0o770, 0o707, 0o702] as [mode_t], [true, false])
  func aDirectoryThatOthersMayWriteToIsRefused(_ mode: mode_t, _ isCache: Bool) throws {
    if isCache {
      let cache = try directory.open()
      try cache.set("v", forKey: "key")
      try cache.close()
    }
    chmod(directory.path, mode)
    defer { chmod(directory.path, 0o700) }
    let before = try TreeImage(directory.path)
    let code = open(.ordered)
    #expect(code.map(Self.refusals.contains) == true, "\(code.map { "\($0)" } ?? "opened")")
    let after = try TreeImage(directory.path)
    #expect(before.losses(in: after) == [])
    #expect(before.additions(in: after) == [])
  }

  /// Read access is the owner's choice.
  @Test(arguments: [0o700, 0o750, 0o755, 0o500 | 0o200] as [mode_t])
  func aDirectoryThatOnlyItsOwnerMayWriteToIsOpened(_ mode: mode_t) throws {
    chmod(directory.path, mode)
    defer { chmod(directory.path, 0o700) }
    #expect(open(.ordered) == nil)
  }

  @Test(.enabled(if: getuid() == 0, "chown(2) takes root"), arguments: [true, false])
  func aDirectoryOfAnotherUserIsRefused(_ isCache: Bool) throws {
    if isCache {
      let cache = try directory.open()
      try cache.close()
    }
    #expect(chown(directory.path, 61_234, 61_234) == 0)
    let before = try TreeImage(directory.path)
    let code = open(.ordered)
    #expect(code.map(Self.refusals.contains) == true, "\(code.map { "\($0)" } ?? "opened")")
    let after = try TreeImage(directory.path)
    #expect(before.losses(in: after) == [])
    #expect(before.additions(in: after) == [])
    #expect(chown(directory.path, 0, 0) == 0)
  }

  @Test func aSharedDirectoryIsOpenedWhereTheConfigurationSaysSo() throws {
    chmod(directory.path, 0o770)
    defer { chmod(directory.path, 0o700) }
    let cache = try directory.open { $0.disk.allowsOtherUsers = true }
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

  /// A common way to put caches on other volumes.
  @Test func aLinkToADirectoryIsThatDirectory() throws {
    let link = directory.path + "/link"
    try FileManager.default.createDirectory(
      atPath: directory.path + "/real", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory.path + "/real")
    let real = try LMDBCache(directory: directory.url("real"), configuration: CacheDirectory.configuration())
    let linked = try LMDBCache(directory: URL(fileURLWithPath: link), configuration: CacheDirectory.configuration())
    #expect(linked.directory == real.directory)
    try real.set("v", forKey: "key")
    #expect(try linked.value(String.self, forKey: "key") == "v")
    try linked.set("w", forKey: "key")
    #expect(try real.value(String.self, forKey: "key") == "w")
    try real.flush()
    let outcome = try BoundedProcess.run(
      "CacheTestProcess", input: ["open \(link)", "get key", "set key x", "close", "exit"])
    #expect(outcome.answers == ["ok", "w", "ok", "ok"])
    #expect(try real.value(String.self, forKey: "key") == "x")
    try real.close()
    try linked.close()
  }
}
