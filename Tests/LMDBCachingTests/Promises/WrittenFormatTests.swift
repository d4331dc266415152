import FormatFixtures
import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Files written by earlier releases stay readable, and this version writes the same bytes.
@Suite struct WrittenFormatTests {
  let directory = CacheDirectory()

  /// The files of a killed process, from this machine or another.
  private func fill(_ origin: FixtureOrigin) throws {
    switch origin {
    case .release(let version): try FixtureArchive.unpack("cache", of: version, into: directory.url)
    case .current:
      let outcome = try BoundedProcess.run("CacheTestProcess", input: ["fixture cache \(directory.path)"], within: 300)
      try #require(outcome.ending == .signal(9), "\(outcome)")
    }
    #expect(directory.journals.count == 1 && !directory.segments.isEmpty)
  }

  private func verify(pendingWrites: ClosedRange<Int>) throws {
    let report = try CacheInspection.verify(directory: directory.url, checksValues: true)
    #expect(report.file != nil && report.damagedEntries == 0 && report.notices == [])
    #expect(report.entries >= CacheFixture.waiting.count)
    #expect(pendingWrites.contains(report.pendingWrites), "\(report.pendingWrites)")
  }

  private func expect(_ value: FixtureValue, _ entry: CacheEntry?) throws {
    let entry = try #require(entry, "\(value.key)")
    #expect(entry.key == value.key && entry.expiration == value.expiration, "\(value.key)")
    #expect(entry.created == CacheFixture.date, "\(value.key)")
    if let cost = value.cost { #expect(entry.cost == cost, "\(value.key)") }
    for tag in value.tags { #expect(entry.isTagged(tag), "\(value.key)") }
    #expect(entry.isTagged("shared") == value.tags.contains("shared"), "\(value.key)")
  }

  @Test(arguments: FixtureOrigin.all) func aLookFindsEverything(_ origin: FixtureOrigin) throws {
    try fill(origin)
    let before = try TreeImage(directory.path, except: ["lock.mdb"])
    try verify(pendingWrites: CacheFixture.waiting.count...10_000)
    let clock = CacheClock.manual(CacheFixture.laterClock())
    let reader = try #require(try CacheReader(directory: directory.url, clock: clock))
    for value in CacheFixture.values {
      #expect(try value.isFound(in: reader), "\(value.key)")
      try expect(value, try reader.entry(forKey: value.key))
    }
    for key in CacheFixture.goneKeys + CacheFixture.absentKeys {
      #expect(try reader.entry(forKey: key) == nil, "\(key)")
    }
    var keys: [String] = []
    try reader.forEachPage {
      keys += $0.map(\.key)
      return true
    }
    #expect(keys.sorted() == CacheFixture.values.map(\.key).sorted())
    for key in CacheFixture.loadedKeys {
      let record = try #require(try reader.record(forKey: key))
      // In whole seconds, because shares of a lifetime are rounded.
      #expect((record.expires - record.refresh + 500_000_000) / 1_000_000_000 == Int64(CacheFixture.lifetime / 2))
      #expect((record.kept - record.expires) / 1_000_000_000 == Int64(CacheFixture.keptFor))
    }
    #expect(reader.notices == [])
    #expect(try TreeImage(directory.path, except: ["lock.mdb"]) == before)
  }

  @Test(arguments: FixtureOrigin.all) func everythingIsRead(_ origin: FixtureOrigin) throws {
    try fill(origin)
    let cache = try directory.open { $0.clock = .manual(CacheFixture.laterClock()) }
    #expect(cache.recovery == nil && cache.health.isHealthy)
    #expect(cache.statistics.replayedWrites >= CacheFixture.waiting.count)
    for value in CacheFixture.values {
      #expect(try value.isFound(in: cache), "\(value.key)")
      try expect(value, try cache.entry(forKey: value.key))
    }
    for key in CacheFixture.goneKeys { #expect(try cache.entry(forKey: key) == nil, "\(key)") }
    #expect(try cache.entries().map(\.key).sorted() == CacheFixture.values.map(\.key).sorted())
    // A cached absence loads nothing.
    for key in CacheFixture.absentKeys {
      #expect(try cache.optionalValue(String.self, forKey: key) { _ in "loaded" } == nil, "\(key)")
    }
    #expect(cache.statistics.loads == 0 && cache.statistics.corruptedRecords == 0)
    try cache.close()
    try verify(pendingWrites: 0...0)
  }

  /// Uses this machine's real clock.
  @Test(arguments: FixtureOrigin.all) func theCacheGoesOn(_ origin: FixtureOrigin) throws {
    try fill(origin)
    let removed = CacheFixture.places.map { "\($0):tagged" }
    // Those that do not expire in these years.
    let values = CacheFixture.values.filter {
      !removed.contains($0.key) && ($0.expiration == nil || $0.expiration == CacheFixture.farDate)
    }
    let changed = CacheFixture.places.map { "\($0):counter" }
    let first = try directory.open()
    for value in values { #expect(try value.isFound(in: first), "\(value.key)") }
    for place in CacheFixture.places { try first.removeAll(.tag("\(place):red")) }
    for key in changed { #expect(try first.increment(forKey: key) == 43) }
    try first.set("new", forKey: "new", tags: ["waiting:red"])
    try first.close()
    let second = try directory.open()
    #expect(second.recovery == nil && second.health.isHealthy)
    for value in values where !changed.contains(value.key) { #expect(try value.isFound(in: second), "\(value.key)") }
    for key in removed { #expect(try second.entry(forKey: key) == nil, "\(key)") }
    for key in changed { #expect(try second.value(Int.self, forKey: key) == 43) }
    #expect(try second.value(String.self, forKey: "new") == "new")
    try second.close()
  }
}
