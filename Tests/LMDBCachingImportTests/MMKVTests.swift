import Foundation
import LMDBCaching
import LMDBCachingImport
import TestSupport
import Testing

@Suite struct MMKVTests {
  let place = Place()

  private func run(_ types: MMKVTypes = MMKVTypes(), into cache: LMDBCache) throws -> ImportReport {
    try CacheImport(from: .mmkv(file: place.store, types: types)).run(into: cache)
  }

  /// A store with one text.
  private func single(_ key: String = "key", _ text: String = "value") -> MMKVWriter {
    var writer = MMKVWriter()
    writer.add(key, text: text)
    return writer
  }

  @Test func everyTypeIsRead() throws {
    var writer = MMKVWriter()
    var types = MMKVTypes()
    var checks: [(LMDBCache) throws -> Bool] = []
    func add<Value: Codable & Sendable & Equatable>(_ type: MMKVType?, _ bytes: [UInt8], _ value: Value) {
      let key = "\(checks.count)"
      writer.add(key, bytes)
      if let type { types.set(type, forKey: key) }
      checks.append { try $0.value(Value.self, forKey: key) == value }
    }
    add(.strings, MMKVWriter.held(MMKVWriter.held(Array("a".utf8)) + MMKVWriter.held([])), ["a", ""])
    add(.bool, [1], true)
    add(.bool, [0], false)
    add(.int32, MMKVWriter.number(Int64(-7)), Int32(-7))
    add(.uint32, MMKVWriter.number(UInt64(UInt32.max)), UInt32.max)
    add(.int64, MMKVWriter.number(Int64.min), Int64.min)
    add(.uint64, MMKVWriter.number(UInt64.max), UInt64.max)
    add(.float, MMKVWriter.word(Float(1.5).bitPattern), 1.5)
    add(.double, MMKVWriter.word(Double(-0.1).bitPattern), -0.1)
    add(.string, MMKVWriter.held(Array("текст".utf8)), "текст")
    add(.string, [0], "")
    add(.bytes, MMKVWriter.held([1, 2, 3]), Data([1, 2, 3]))
    let date = Date(timeIntervalSince1970: 1_600_000_000.25)
    add(.date, MMKVWriter.word(date.timeIntervalSince1970.bitPattern), date)
    add(.archive, MMKVWriter.held(Array(try archive(NSArray(array: [NSString("x")])))), ["x"])
    add(nil, MMKVWriter.held(Array("raw".utf8)), Data([3] + Array("raw".utf8)))
    try writer.write(to: place, as: "store")
    let cache = try place.cache()
    let report = try run(types, into: cache)
    #expect(report.taken == 15 && report.refusals.isEmpty && report.examined == 15)
    for (index, check) in checks.enumerated() { #expect(try check(cache), "value \(index)") }
    #expect((try cache.object(forKey: "0") as? NSArray)?.count == 2)
  }

  @Test func valuesOfAnotherTypeAreRefused() throws {
    let wrong: [(type: MMKVType, value: [UInt8])] = [
      (.bool, [2]), (.int32, MMKVWriter.number(Int64(Int32.max) + 1)), (.int32, [0x80]), (.int32, [1, 1]),
      (.uint32, MMKVWriter.number(Int64(-1))), (.int64, [UInt8](repeating: 0xFF, count: 11)),
      (.uint64, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]), (.float, [1, 2, 3]),
      (.double, [1, 2, 3, 4]),
      (.string, [1]), (.string, [2, 0xFF, 0xFE]), (.string, [1, 65, 66]), (.bytes, [9, 1]), (.strings, [2, 5, 65]),
      (.archive, [0x90]), (.date, [0]),
    ]
    var writer = single("good")
    var types: MMKVTypes = ["good": .string]
    for (index, row) in wrong.enumerated() {
      writer.add("\(index)", row.value)
      types.set(row.type, forKey: "\(index)")
    }
    try writer.write(to: place, as: "store")
    let cache = try place.cache()
    let report = try run(types, into: cache)
    #expect(
      report.taken == 1 && reasons(report).count == wrong.count && report.refusalCounts == [.wrongType: wrong.count])
    #expect(try cache.entries().map(\.key) == ["good"])
  }

  /// Every width that versions of MMKV have written; since version 2, any four-byte number.
  @Test(arguments: [[7], [0x90, 0x01], [0xFF, 0xFF, 0xFF, 0x07], [0x81, 0x82, 0x83, 0x04]] as [[UInt8]])
  func everyVersionIsRead(_ head: [UInt8]) throws {
    let cache = try place.cache()
    for version in 0...4 as ClosedRange<UInt32> {
      var writer = single("\(version)")
      (writer.head, writer.version) = (head, version)
      try writer.write(to: place, as: "store")
      #expect(try run(["*": .string], into: cache).taken == 1)
      #expect(try cache.value(String.self, forKey: "\(version)") == "value")
    }
    // An older version wrote last, and keeps the length in the file only.
    let writer = single()
    try place.write(writer.file, to: "store")
    let sum = MMKVWriter.checksum(writer.contents)
    try place.write(writer.metadata(checksum: sum, length: 5, lastChecksum: 0, lastLength: 0), to: "store.crc")
    #expect(try run(["*": .string], into: cache).taken == 1)
  }

  @Test func theLastValueCountsAndAnEmptyOneRemoves() throws {
    let cache = try place.cache()
    for name in ["store", "store.crc"] { try place.write([UInt8](repeating: 0, count: 4096), to: name) }
    let empty = try run(into: cache)
    #expect(empty.isComplete && empty.examined == 0)
    var writer = MMKVWriter()
    for (key, text) in [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("c", ""), ("d", "5"), ("d", ""), ("d", "6")] {
      if text.isEmpty { writer.add(key, []) } else { writer.add(key, text: text) }
    }
    try writer.write(to: place, as: "store")
    #expect(try run(["*": .string], into: cache).taken == 3)
    #expect(try ["a", "b", "c", "d"].map { try cache.value(String.self, forKey: $0) } == ["3", "2", nil, "6"])
  }

  @Test func expiriesAreKeptAndWhatHasExpiredIsLeft() throws {
    var writer = MMKVWriter()
    writer.flags = 1
    let times: [(key: String, time: UInt32)] = [
      ("never", 0), ("later", 1_700_000_100), ("now", 1_700_000_000), ("past", 1_600_000_000), ("far", .max),
    ]
    for (key, time) in times { writer.add(key, [1, 0x78] + MMKVWriter.word(time)) }
    writer.add("short", [1, 65])
    try writer.write(to: place, as: "store")
    let clock = ManualClock(date: Date(timeIntervalSince1970: 1_700_000_000))
    let cache = try place.cache { $0.clock = .manual(clock) }
    let report = try run(["*": .string], into: cache)
    #expect(report.taken == 3 && report.expired == 2 && report.refused == 1)
    #expect(reasons(report) == ["short": .damagedValue])
    let expirations = Dictionary(uniqueKeysWithValues: try cache.entries().map { ($0.key, $0.expiration) })
    #expect(expirations["never"] == .some(nil))
    #expect(expirations["later"] == Date(timeIntervalSince1970: 1_700_000_100))
    #expect(expirations["far"] == Date(timeIntervalSince1970: 4_294_967_295))
    clock.advance(by: .seconds(101))
    #expect(try cache.value(String.self, forKey: "later") == nil && cache.value(String.self, forKey: "far") == "x")
  }

  @Test func aFileWithoutTheOneBesideItIsRefusedAndADirectoryNamesItsFiles() throws {
    func message() throws -> String {
      let error = try #require(importError { try run(into: place.cache()) })
      #expect(error.code == .foreignSource)
      return error.message
    }
    try place.write(single().file, to: "store")
    #expect(try message().contains("store.crc"))
    try FileManager.default.removeItem(at: place.store)
    try single().write(to: place, as: "store/mmkv.default")
    try place.write([1], to: "store/other")
    let text = try message()
    #expect(text.contains("mmkv.default.") && !text.contains("other"))
  }

  @Test func anyDamageIsAnError() throws {
    var writer = single()
    for number in 0..<20 { writer.add("key \(number)", text: "value \(number)") }
    try place.write(writer.metadata, to: "store.crc")
    let end = 4 + writer.contents.count
    for seed in 0..<40 {
      var random = SeededRandom(UInt64(seed))
      var file = writer.file
      if seed % 5 == 0 {
        file = Array(file[..<random.below(end)])
      } else {
        file[4 + random.below(end - 4)] ^= UInt8.random(in: 1...255, using: &random)
      }
      try place.write(file, to: "store")
      #expect(importErrorCode { try run(into: place.cache()) } == .damagedSource, "seed \(seed)")
    }
  }

  /// MMKV falls back to it after a system crash.
  @Test func theLastFullStateIsTakenWhereTheRestIsDamaged() throws {
    var writer = single("old", "1")
    let full = writer.contents
    writer.add("new", text: "2")
    var file = writer.file
    file[4 + writer.contents.count - 1] ^= 1
    try place.write(file, to: "store")
    try place.write(
      writer.metadata(
        checksum: MMKVWriter.checksum(writer.contents), length: writer.contents.count,
        lastChecksum: MMKVWriter.checksum(full), lastLength: full.count), to: "store.crc")
    let cache = try place.cache()
    let report = try run(["*": .string], into: cache)
    #expect(report.taken == 1 && report.refusalCounts == [.olderState: 1] && report.examined == 1)
    #expect(try cache.value(String.self, forKey: "old") == "1")
  }

  /// An encrypted file has a valid checksum of pairs that cannot be parsed, as has one with forged lengths.
  @Test func pairsThatCannotBeParsedAreEncrypted() throws {
    var random = SeededRandom(7)
    let all: [[UInt8]] = [
      [0xF3] + random.bytes(60), [0x05, 0x61], [0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x61], [0x01, 0x61, 0x7F, 0x00],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0x01, 0xFF, 0x01, 0x00], [0x01, 0x61],
    ]
    for (index, pairs) in all.enumerated() {
      var writer = MMKVWriter()
      if index == 0 { (writer.vector, writer.head) = ((1...16).map { $0 }, [0x1B]) }
      writer.append(pairs)
      try writer.write(to: place, as: "store")
      let error = importError { try run(into: place.cache()) }
      #expect(error?.code == .encryptedSource && error?.message.contains("reKey") == (index == 0), "\(pairs)")
    }
  }

  @Test func typesAreFoundByTheLongestBeginning() {
    var types: MMKVTypes = ["a*": .int32, "ab*": .string, "abc": .bool, "*": .bytes]
    #expect(types.type(of: "abc") == .bool && types.type(of: "abcd") == .string && types.type(of: "ax") == .int32)
    #expect(types.type(of: "x") == .bytes && types.type(of: "") == .bytes)
    types.set(.double, for: "ab*")
    #expect(types.type(of: "abcd") == .double)
    types.set(.date, forKey: "a*")
    #expect(types.type(of: "a*") == .date && types.type(of: "a") == .int32)
    #expect(MMKVTypes().type(of: "any") == .raw)
    // Prefixes that are equal as strings but not as bytes are distinct, like keys.
    let twins: MMKVTypes = ["\u{E9}*": .int32, "e\u{301}*": .string]
    #expect(twins.type(of: "\u{E9}x") == .int32 && twins.type(of: "e\u{301}x") == .string)
    let (first, second): (MMKVTypes, MMKVTypes) = (["\u{E9}*": .int32], ["e\u{301}*": .int32])
    #expect(first != second)
    // Combines with an asterisk into one character.
    let arabic: MMKVTypes = ["\u{600}*": .bool]
    #expect(arabic.type(of: "\u{600}1") == .bool)
  }
}
