import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Without a journal's file, writes stay in memory or fail, and unrelated entries stay.
@Suite struct MissingJournalTests {
  let directory = CacheDirectory()

  private func made() throws {
    let cache = try directory.open()
    for index in 0..<20 {
      try cache.set("a\(index)", forKey: "a/\(index)")
      try cache.set("b\(index)", forKey: "b/\(index)")
    }
    try cache.close()
  }

  /// - Parameter lists: Listings need a commit.
  private func expectOthers(
    _ cache: LMDBCache, lists: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    cache.memory.removeAll()
    for index in 0..<20 {
      #expect(try cache.value(String.self, forKey: "b/\(index)") == "b\(index)", sourceLocation: sourceLocation)
    }
    if lists { #expect(try cache.entries(withPrefix: "b/").count == 20, sourceLocation: sourceLocation) }
    #expect(try cache.contains("b/3"), sourceLocation: sourceLocation)
  }

  @Test func aFileInPlaceOfTheJournalsHarmsNothingElse() throws {
    try made()
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    let journals = directory.path + "/journals"
    try FileManager.default.removeItem(atPath: journals)
    directory.write(Data("no folder".utf8), to: "journals")
    // It may fail, but it concerns only these keys.
    let code = errorCode { try cache.removeAll(.prefix("a/")) }
    try expectOthers(cache, lists: false)
    if code == nil { #expect(try cache.value(String.self, forKey: "a/3") == nil) }
    try FileManager.default.removeItem(atPath: journals)
    #expect(
      eventually {
        clock.advance(by: .seconds(40))
        return errorCode { try cache.flush() } == nil && cache.health.isHealthy
      })
    try expectOthers(cache)
    try cache.close()
    let again = try directory.open()
    try expectOthers(again)
    if code == nil { #expect(try again.entries(withPrefix: "a/").isEmpty) }
    try again.close()
  }

  #if os(Linux)
    @Test func aFileSizeLimitHarmsNothingElse() throws {
      try made()
      let failures = try ProcessScript([
        ("open \(directory.path)", .ok), ("get b/1", .text("b1")), ("filelimit 4096", .ok),
        ("removeprefix a/", .oneOf(["ok", "error noSpace", "error notCommitted"])), ("forget", .ok),
        ("get b/1", .text("b1")), ("get b/19", .text("b19")),
        ("filelimit 1099511627776", .ok), ("settle", .ok), ("forget", .ok),
        ("get b/1", .text("b1")), ("get b/19", .text("b19")), ("close", .ok),
        ("open \(directory.path)", .ok), ("get b/1", .text("b1")), ("get b/19", .text("b19")), ("close", .ok),
      ]).failures()
      #expect(failures == [])
    }
  #endif
}
