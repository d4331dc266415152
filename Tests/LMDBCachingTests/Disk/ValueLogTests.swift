import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ValueLogTests {
  let values = LoggedValues()
  private var directory: CacheDirectory { values.directory }

  // MARK: Space

  private func size(_ cache: LMDBCache) throws -> Int {
    try ValueFolder(cache: cache.store.place.directory).segments().reduce(0) { $0 + $1.size }
  }

  @Test(arguments: Durability.allCases) func aSweepGivesSpaceBack(_ durability: Durability) throws {
    let cache = try values.open { $0.durability = durability }
    try values.fill(cache, 0..<200)
    try cache.flush()
    let before = try size(cache)
    for number in 0..<200 where number % 5 != 0 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    try cache.sweepValues()
    let live = try cache.store.database.valueUsage().bytes
    #expect(try size(cache) < min(before / 2, 2 * live + (128 << 10)))
    try values.expect(cache, stride(from: 0, to: 200, by: 5))
    try values.expectCountsAreRight(cache)
    try cache.removeAll()
    try cache.flush()
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try values.fill(cache, 0..<20, round: 1)
    try cache.close()
    let reopened = try values.open { $0.durability = durability }
    try values.expect(reopened, 0..<20, round: 1)
    try reopened.close()
  }

  @Test func roundsOfTheWriterGiveSpaceBack() throws {
    let cache = try values.open()
    try values.fill(cache, 0..<200)
    try cache.flush()
    try cache.trim(to: .count(10))
    let isBack = eventually {
      values.clock.advance(by: .seconds(2))
      return directory.segments.count <= 3
    }
    #expect(isBack)
    try values.expect(cache, 190..<200)
    try values.expectCountsAreRight(cache)
    try cache.close()
  }

  @Test func statisticsCoverTheFiles() throws {
    let cache = try values.open()
    #expect(cache.statistics.deadBytes == 0)
    try values.fill(cache, 0..<100)
    try cache.flush()
    let size = (0..<100).reduce(0) { $0 + values.value($1).count }
    let full = cache.statistics
    #expect(full.liveBytes > size && full.liveBytes < size + size / 8 && full.deadBytes < 16 << 10)
    for number in 0..<50 { try cache.removeValue(forKey: "key\(number)") }
    try cache.flush()
    #expect(cache.statistics.deadBytes > size / 3)
    try cache.sweepValues()
    let swept = cache.statistics
    #expect(swept.liveBytes < full.liveBytes - size / 3 && swept.deadBytes < size / 6)
    try cache.close()
  }

  // MARK: Readers

  /// Another process reuses an unused segment, and releases it before the next scan.
  @Test func aSnapshotOfAnotherProcessMissesNothingOfWhatWasTakenUpAgain() throws {
    let cache = try values.open { neverCommitting(&$0) }
    try values.fill(cache, 0..<1)
    cache.store.values.retire(try #require(cache.store.values.active).identifier)
    try cache.flush()
    let text = String(repeating: "x", count: 5_000)
    let (writer, reader) = (try cacheProcess(), try cacheProcess())
    try cache.read { _ in
      try cache.removeAll()
      try cache.flush()
      // This snapshot retains it.
      try cache.sweepValues()
      #expect(directory.segments.count == 1)
      // Its clock stands still, so it makes no scans.
      #expect(writer.run("open \(directory.path) wall=1700000000000000000") == "ok")
      #expect(writer.run("set text \(text)") == "ok")
      #expect(writer.run("flush") == "ok")
      #expect(directory.segments.count == 1, "it was not taken up again")
      #expect(reader.run("open \(directory.path)") == "ok")
      #expect(reader.run("snapshot text") == "held")
      #expect(writer.run("remove text") == "ok")
      #expect(writer.run("close") == "ok")
    }
    try cache.sweepValues()
    #expect(reader.run("release") == text)
    #expect(reader.run("close") == "ok")
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try cache.close()
  }

  @Test func bytesStayWhileTheyAreBorrowed() throws {
    let cache = try values.open()
    let large = Data(repeating: 9, count: 100_000)
    try cache.set(large, forKey: "key")
    try cache.flush()
    let isSame = try cache.withBytes(forKey: "key") { bytes -> Bool in
      do {
        try cache.removeAll()
        try cache.flush()
        try cache.sweepValues()
      } catch {
        return false
      }
      return bytes.withUnsafeBytes { $0.elementsEqual(large) }
    }
    #expect(isSame == true)
    try cache.sweepValues()
    #expect(directory.segments.isEmpty)
    try cache.close()
  }

  // MARK: Sizes

  /// Longer than one system call writes.
  @Test(.disabled(if: Sanitizer.address.isActive || Sanitizer.thread.isActive, "it takes a sanitizer minutes"))
  func aValueOfMoreThanTwoGibibytes() throws {
    let length = (2 << 30) + 12_345
    var value = Data(count: length)
    for place in [0, 1 << 20, 0x7FFF_EFFF, 0x7FFF_F000, 1 << 31, length - 1] { value[place] = UInt8(place % 251 + 1) }
    let cache = try directory.openDisk { $0.durability = .fast }
    try cache.set(value, forKey: "key")
    #expect(try cache.value(forKey: "key") == value)
    #expect(try cache.entries().map(\.size) == [length])
    try cache.close()
  }
}
