import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Symbolic links out of a cache's directory: the cache must not touch their targets.
@Suite struct LinkTests {
  let directory = CacheDirectory()
  let elsewhere = CacheDirectory()

  enum Target: CaseIterable, Sendable {
    case present
    case missing
  }

  static let refusals: Set<CacheError.Code> = [.invalidDirectory, .corruptedRecord, .permissionDenied]

  private func placeVictim(_ name: CacheFileName) throws -> String {
    let path = elsewhere.path + "/victim"
    if name.isFolder {
      elsewhere.write(Data("a letter".utf8), to: "victim/letter.txt")
      elsewhere.write(Data("a journal".utf8), to: "victim/0123456789abcdef.journal")
      elsewhere.write(Data("a database".utf8), to: "victim/data.mdb")
      let long = Date(timeIntervalSince1970: 1_000_000_000)
      for file in ["letter.txt", "0123456789abcdef.journal", "data.mdb"] {
        try FileManager.default.setAttributes([.modificationDate: long], ofItemAtPath: path + "/" + file)
      }
    } else {
      elsewhere.write(Data("The victim's, and nobody else's.\n".utf8), to: "victim")
    }
    return path
  }

  /// Opens and uses the cache until an error ends that; returns the error's code.
  private func use(_ durability: Durability) -> CacheError.Code? {
    errorCode {
      let cache = try directory.open {
        $0.durability = durability
        $0.clock = .manual(ManualClock(now: Int64(Date().timeIntervalSince1970 * 1e9) + 86_400_000_000_000))
      }
      try cache.set(Data(count: 2 << 20), forKey: "large")
      try cache.set("v", forKey: "key")
      try cache.flush()
      try cache.sweepValues()
      try cache.close()
    }
  }

  private func makeCache(_ durability: Durability) throws {
    let cache = try directory.open { $0.durability = durability }
    try cache.set(Data(count: 2 << 20), forKey: "large")
    try cache.close()
  }

  @Test(arguments: CacheFileName.allCases, Target.allCases)
  func aLinkInADirectoryWithoutACacheIsRefused(_ name: CacheFileName, _ target: Target) throws {
    let victim = try target == .present ? placeVictim(name) : elsewhere.path + "/victim"
    try FileManager.default.createSymbolicLink(
      atPath: directory.path + "/" + name.rawValue, withDestinationPath: victim)
    let before = (try TreeImage(directory.path), try TreeImage(elsewhere.path))
    for durability in Durability.allCases {
      let code = use(durability)
      #expect(code.map(Self.refusals.contains) == true, "\(durability): \(code.map { "\($0)" } ?? "opened")")
      let after = (try TreeImage(directory.path), try TreeImage(elsewhere.path))
      #expect(before.0.losses(in: after.0) == [], "\(durability)")
      #expect(before.1.losses(in: after.1) == [], "\(durability), the victim")
      #expect(before.1.additions(in: after.1) == [], "\(durability), beside the victim")
    }
  }

  @Test(arguments: CacheFileName.allCases, Target.allCases)
  func aLinkInPlaceOfACachesFileIsNotFollowed(_ name: CacheFileName, _ target: Target) throws {
    for durability in [Durability.ordered, .fast] {
      try? FileManager.default.removeItem(atPath: directory.path)
      try? FileManager.default.removeItem(atPath: elsewhere.path + "/victim")
      try FileManager.default.createDirectory(
        atPath: directory.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      try makeCache(durability)
      let place = directory.path + "/" + name.rawValue
      try? FileManager.default.removeItem(atPath: place)
      let victim = try target == .present ? placeVictim(name) : elsewhere.path + "/victim"
      try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: victim)
      let before = try TreeImage(elsewhere.path)
      let code = use(durability)
      // A name that this durability does not use is a stray file.
      let isUnused = name == .new || durability != .fast && [.fastSession, .newFastSession].contains(name)
      #expect(
        code.map(Self.refusals.contains) ?? isUnused, "\(durability): \(code.map { "\($0)" } ?? "opened")")
      let after = try TreeImage(elsewhere.path)
      #expect(before.losses(in: after) == [], "\(durability), the victim")
      #expect(before.additions(in: after) == [], "\(durability), beside the victim")
    }
  }

  @Test(arguments: CacheFileName.files, [true, false])
  func aHardLinkInPlaceOfACachesFileIsNotWrittenTo(_ name: CacheFileName, _ isCache: Bool) throws {
    for durability in [Durability.ordered, .fast] {
      try? FileManager.default.removeItem(atPath: directory.path)
      try? FileManager.default.removeItem(atPath: elsewhere.path + "/victim")
      try FileManager.default.createDirectory(
        atPath: directory.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      if isCache { try makeCache(durability) }
      let place = directory.path + "/" + name.rawValue
      try? FileManager.default.removeItem(atPath: place)
      try FileManager.default.linkItem(atPath: try placeVictim(name), toPath: place)
      let before = try TreeImage(elsewhere.path)
      // Opening and refusing are both fine.
      let code = use(durability)
      #expect(code != .storageFailed, "\(durability)")
      let after = try TreeImage(elsewhere.path)
      #expect(before.losses(in: after) == [], "\(durability), the victim")
    }
  }
}
