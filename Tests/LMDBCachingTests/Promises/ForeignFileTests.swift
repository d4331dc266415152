import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Foreign files in a cache's directory, some of which replace its files. The trial `foreign-files` draws them; these
/// tests try each of them once.
@Suite struct ForeignFileTests {
  let directory = CacheDirectory()
  let elsewhere = CacheDirectory()

  static let refusals: Set<CacheError.Code> = [.invalidDirectory, .corruptedRecord, .permissionDenied]

  private func answer(_ durability: Durability) -> CacheError.Code? {
    errorCode {
      let cache = try directory.open { $0.durability = durability }
      // A cache writes, sweeps and removes in its directory.
      try cache.set(Data(count: 2 << 20), forKey: "large")
      try cache.set("v", forKey: "key")
      try cache.flush()
      try cache.sweepValues()
      try cache.removeAll()
      try cache.close()
    }
  }

  // MARK: A directory without a cache

  @Test(arguments: ForeignContent.allCases) func aForeignDirectoryIsRefusedAndNamed(_ content: ForeignContent) throws {
    try content.place(in: directory.path)
    let before = try TreeImage(directory.path)
    for durability in Durability.allCases {
      let code = answer(durability)
      #expect(code.map(Self.refusals.contains) == true, "\(durability): \(code.map { "\($0)" } ?? "opened")")
      let after = try TreeImage(directory.path)
      #expect(before.losses(in: after) == [] && before.additions(in: after) == [])
    }
    let error = #expect(throws: CacheError.self) { try directory.open() }
    #expect(error?.message.contains(directory.path) == true)
  }

  // MARK: Links and pipes

  /// The names that a cache uses in its directory.
  enum Name: String, CaseIterable {
    case processLock = "processes.lock"
    case cleanExit = "clean-exit"
    case newFastSession = "fast-session.new"
    case fastSession = "fast-session"
    case new
    case data = "data.mdb"
    case lockFile = "lock.mdb"
    case journals, values

    var isFolder: Bool { [.new, .journals, .values].contains(self) }
  }

  enum Guise: CaseIterable {
    case link, danglingLink, hardLink
    /// On which `open(2)` would block.
    case pipe
  }

  private var victim: String { elsewhere.path + "/victim" }

  private func placeVictim(_ name: Name) throws {
    let files =
      name.isFolder ? ["letter.txt", "0123456789abcdef.journal", "data.mdb"].map { "victim/" + $0 } : ["victim"]
    for file in files {
      elsewhere.write(Data("The victim's.\n".utf8), to: file)
      let long = Date(timeIntervalSince1970: 1_000_000_000)
      try FileManager.default.setAttributes([.modificationDate: long], ofItemAtPath: elsewhere.path + "/" + file)
    }
  }

  private func place(_ guise: Guise, at name: Name) throws {
    let path = directory.path + "/" + name.rawValue
    try? FileManager.default.removeItem(atPath: path)
    if guise == .link || guise == .hardLink { try placeVictim(name) }
    switch guise {
    case .link, .danglingLink: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: victim)
    case .hardLink: try FileManager.default.linkItem(atPath: victim, toPath: path)
    case .pipe: #expect(mkfifo(path, 0o600) == 0)
    }
  }

  /// Alone in a directory, or as a replacement of a cache's file.
  @Test(arguments: Name.allCases, Guise.allCases)
  func isNeitherFollowedNorWaitedAt(_ name: Name, _ guise: Guise) throws {
    if name.isFolder && guise == .hardLink { return }
    for (isCache, durability) in [(false, Durability.ordered), (true, .ordered), (true, .fast)] {
      let (folder, other) = (directory.path, elsewhere.path)
      for path in [folder, other] {
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      }
      if isCache {
        let cache = try directory.open { $0.durability = durability }
        try cache.set(Data(count: 2 << 20), forKey: "large")
        try cache.close()
      }
      try place(guise, at: name)
      let before = try TreeImage(other)
      let outcome = try BoundedProcess.run(
        "CacheTestProcess",
        input: [
          "open \(folder) durability=\(durability.rawValue) wall=1800000000000000000", "set key v", "big large 2097152",
          "flush", "sweep", "maintain", "get key", "close", "exit",
        ])
      let text: Comment = "\(isCache ? "a cache" : "no cache"), \(durability): \(outcome)"
      #expect(outcome.isOrderly, text)
      let after = try TreeImage(other)
      #expect(before.losses(in: after) == [] && before.additions(in: after) == [], text)
      // A hard link or a pipe may be replaced; a name that this durability does not use is a stray file.
      let isLink = guise == .link || guise == .danglingLink
      let isUnused = isCache && (name == .new || durability != .fast && [.fastSession, .newFastSession].contains(name))
      if outcome.answers.first == "ok" {
        #expect(outcome.answers.filter { $0 != "ok" } == ["v"] && (!isLink || isUnused), text)
      } else {
        let isNamed = Self.refusals.contains { outcome.answers.first == "error \($0)" }
        #expect(isNamed || !isLink && outcome.answers.first != "error storageFailed", text)
      }
    }
  }
}
