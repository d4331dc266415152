import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Files that a user puts into an existing cache's directory.
@Suite struct StrayFileTests {
  let directory = CacheDirectory()

  /// Excludes names at which the cache has its own file.
  static let strays: [ForeignContent] = [.note, .hiddenFile, .folder, .new, .values, .journals, .quarantine]

  private func make(_ durability: Durability) throws {
    let cache = try directory.open { $0.durability = durability }
    try cache.set("v", forKey: "key")
    try cache.set(Data(repeating: 7, count: 2 << 20), forKey: "large")
    try cache.close()
  }

  /// Places all files. The result returns the changes since then.
  private func place() throws -> () throws -> [String] {
    let paths = Self.strays.map { directory.path + "/" + $0.path }
    for stray in Self.strays { try stray.place(in: directory.path) }
    let before = try paths.map { try TreeImage($0) }
    return {
      var losses: [String] = []
      for (path, image) in zip(paths, before) {
        losses += image.losses(in: try TreeImage(path)).map { "\(path): \($0)" }
      }
      return losses
    }
  }

  @Test(arguments: Durability.allCases) func theCacheKeepsOpeningAndTheFilesStay(_ durability: Durability) throws {
    try make(durability)
    let losses = try place()
    // Late enough that unreferenced files are swept.
    let clock = ManualClock(now: Int64(Date().timeIntervalSince1970 * 1e9) + 86_400_000_000_000)
    for round in 0..<2 {
      let cache = try directory.open {
        $0.durability = durability
        $0.clock = .manual(clock)
      }
      if round == 0 {
        #expect(try cache.value(String.self, forKey: "key") == "v")
        #expect(try cache.value(Data.self, forKey: "large")?.count == 2 << 20)
      }
      try cache.set(Data(count: 3 << 20), forKey: "large")
      try cache.flush()
      // Runs maintenance.
      clock.advance(by: .seconds(61))
      try cache.sweepValues()
      try cache.trim(to: .age(.zero))
      try cache.trim(to: .count(0))
      try cache.removeAll()
      try cache.close()
      let lost = try losses()
      #expect(lost == [], "round \(round)")
    }
  }

  /// The second quarantine deletes the first.
  @Test func quarantinesKeepTheFiles() throws {
    try make(.ordered)
    let losses = try place()
    for round in 0..<2 {
      var bytes = directory.contents("data.mdb")
      for index in 8_192..<bytes.count { bytes[index] = 0x5A }
      directory.write(bytes, to: "data.mdb")
      let cache = try directory.open()
      #expect(cache.recovery != nil, "round \(round)")
      try cache.set(Data(count: 2 << 20), forKey: "large")
      try cache.flush()
      try cache.sweepValues()
      try cache.close()
      let lost = try losses()
      #expect(lost == [], "round \(round)")
      #expect(directory.names().count { $0.hasPrefix("quarantine-") } == 2, "round \(round)")
    }
  }

  /// After a crash of the operating system, `.fast` discards the cache's own files.
  @Test func aDiscardedFastCacheKeepsTheFiles() throws {
    let open = "open \(directory.path) durability=\(Durability.fast.rawValue)"
    let killed = try BoundedProcess.run("CacheTestProcess", input: [open, "set key v", "flush", "die"])
    #expect(killed.answers == ["ok", "ok", "ok"])
    let losses = try place()
    let outcome = try BoundedProcess.run(
      "CacheTestProcess", input: ["boot 7", open, "get key", "set key new", "get key", "close", "exit"])
    #expect(outcome.isOrderly)
    #expect(outcome.answers == ["ok", "ok", "nil", "ok", "new", "ok"])
    let lost = try losses()
    #expect(lost == [])
  }
}
