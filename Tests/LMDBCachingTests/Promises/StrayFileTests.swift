import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Files that a user puts into an existing cache's directory.
@Suite struct StrayFileTests {
  let directory = CacheDirectory()

  /// Excludes names at which the cache has its own file.
  static let strays: [ForeignContent] = [.note, .hiddenFile, .folder, .new, .values, .journals, .quarantine]

  private func made(_ durability: Durability) throws {
    let cache = try directory.open { $0.durability = durability }
    try cache.set("v", forKey: "key")
    try cache.set(Data(repeating: 7, count: 2 << 20), forKey: "large")
    try cache.close()
  }

  private func placed(_ stray: ForeignContent) throws -> () throws -> [String] {
    try stray.place(in: directory.path)
    let path = directory.path + "/" + stray.path
    let before = try TreeImage(path)
    return { before.losses(in: try TreeImage(path)) }
  }

  @Test(arguments: strays, Durability.allCases)
  func theCacheKeepsOpeningAndTheFileIsKept(_ stray: ForeignContent, _ durability: Durability) throws {
    try made(durability)
    let losses = try placed(stray)
    // Late enough that unowned files would be swept.
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
      // Runs maintenance, and more.
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

  @Test(arguments: strays) func aQuarantineKeepsTheFile(_ stray: ForeignContent) throws {
    try made(.ordered)
    let losses = try placed(stray)
    // The second quarantine deletes the first.
    for round in 0..<2 {
      let file = directory.url("data.mdb")
      var bytes = try Data(contentsOf: file)
      for index in 8_192..<bytes.count { bytes[index] = 0x5A }
      try bytes.write(to: file)
      let cache = try directory.open()
      #expect(cache.recovery != nil, "round \(round)")
      let lostAtOnce = try losses()
      #expect(lostAtOnce == [], "round \(round)")
      try cache.set("v", forKey: "key")
      try cache.flush()
      try cache.sweepValues()
      try cache.close()
      let lost = try losses()
      #expect(lost == [], "round \(round)")
    }
  }

  /// After a system crash `.fast` discards the cache's files, and only those.
  @Test(arguments: strays) func aDiscardedFastCacheKeepsTheFile(_ stray: ForeignContent) throws {
    let losses = try {
      let outcome = try BoundedProcess.run(
        "CacheTestProcess",
        input: ["open \(directory.path) durability=\(Durability.fast.rawValue)", "set key v", "flush", "die"])
      #expect(outcome.answers == ["ok", "ok", "ok"])
      return try placed(stray)
    }()
    let outcome = try BoundedProcess.run(
      "CacheTestProcess",
      input: [
        "boot 7", "open \(directory.path) durability=\(Durability.fast.rawValue)", "get key", "set key new", "get key",
        "close", "exit",
      ])
    #expect(outcome.isOrderly)
    #expect(outcome.answers == ["ok", "ok", "nil", "ok", "new", "ok"])
    let lost = try losses()
    #expect(lost == [])
  }
}
