import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ReaderDamageTests {
  let directory = CacheDirectory()

  private func fill() throws {
    let cache = try directory.open()
    for number in 0..<500 { try cache.set("value \(number)", forKey: "key:\(1_000 + number)") }
    try cache.set(Data(repeating: 7, count: 100_000), forKey: "logged")
    try cache.close()
  }

  private func expectUnchanged<R>(_ body: () throws -> R) throws -> R {
    let before = try TreeImage(directory.path, except: ["lock.mdb"])
    defer { #expect(try! TreeImage(directory.path, except: ["lock.mdb"]) == before) }
    return try body()
  }

  @Test func wrongCountsAreDamage() throws {
    try fill()
    directory.miscount()
    try expectUnchanged { #expect(errorCode { try CacheReader(directory: directory.url) } == .damagedDatabase) }
    // Marked as sound, as if the medium had changed the pages.
    try TestingMark.write(in: directory.path)
    try expectUnchanged {
      #expect(errorCode { try CacheInspection.verify(directory: directory.url) } == .damagedDatabase)
    }
  }

  @Test func damagedEntriesAreLostAlone() throws {
    try fill()
    directory.damage { data in
      // Free pages may contain it too.
      while let place = data.range(of: Data("value 77".utf8)) { data[place.lowerBound] ^= 1 }
    }
    let segment = directory.segments[0]
    var values = directory.contents(segment)
    values[values.range(of: Data(repeating: 7, count: 100))!.lowerBound + 5_000] ^= 1
    directory.write(values, to: segment)
    try TestingMark.write(in: directory.path)
    try expectUnchanged {
      let reader = try directory.reader()
      #expect(errorCode { try reader.value(String.self, forKey: "key:1077") } == .corruptedRecord)
      #expect(errorCode { try reader.value(Data.self, forKey: "logged") } == .corruptedRecord)
      #expect(try reader.value(String.self, forKey: "key:1078") == "value 78")
      let report = try CacheInspection.verify(directory: directory.url, checksValues: true)
      #expect(report.file != nil && report.entries == 501 && report.damagedEntries == 2)
      #expect(report.damage.allSatisfy { $0.code == .corruptedRecord })
      #expect(try CacheInspection.verify(directory: directory.url).damagedEntries == 0)
    }
    try FileManager.default.removeItem(at: directory.url(segment))
    #expect(errorCode { try directory.reader().value(Data.self, forKey: "logged") } == .corruptedRecord)
  }

  /// Segment sizes and counts in the header, with a valid checksum.
  static let claims: [(size: UInt64, count: UInt64)] = [
    (.max, 1), (0x8000_0000_0000_0000, 2), (0x1000_0000_0000_0000, 16), (0x100_0000, 4), (8, 0), (8, 65), (0, .max),
  ]

  /// The reader reports the damaged journal and ignores its content; opening the cache sets it aside.
  @Test(arguments: -4..<claims.count) func malformedJournalsAreDamaged(_ index: Int) throws {
    let cache = try directory.open {
      neverCommitting(&$0)
      $0.disk.journalSize = 1 << 16
    }
    try cache.set("v", forKey: "key")
    let crashed = directory.crashed(cache)
    try cache.close()
    let name = try #require(crashed.journals.first)
    var journal = crashed.contents(name)
    if index < 0 {
      journal.removeLast([1, 8, 4_096, 1 << 15][-index - 1])
    } else {
      for (offset, number) in [(16, Self.claims[index].size), (24, Self.claims[index].count)] {
        withUnsafeBytes(of: number.littleEndian) { journal.replaceSubrange(offset..<offset + 8, with: $0) }
      }
      let check = journal.withBytes { RecordHeader.keyHash($0[..<32]) }
      withUnsafeBytes(of: check.littleEndian) { journal.replaceSubrange(32..<40, with: $0) }
    }
    crashed.write(journal, to: name)
    let before = try TreeImage(crashed.path, except: ["lock.mdb"])
    let reader = try crashed.reader()
    #expect(try reader.entry(forKey: "key") == nil)
    #expect(reader.notices.count == 1 && reader.notices.allSatisfy { $0.contains(name) })
    #expect(try TreeImage(crashed.path, except: ["lock.mdb"]) == before)
    let reopened = try crashed.open()
    #expect(try reopened.value(String.self, forKey: "key") == nil)
    try reopened.close()
    #expect(crashed.journals.contains(JournalName.folder + "/" + JournalFolder.damagedName))
  }
}
