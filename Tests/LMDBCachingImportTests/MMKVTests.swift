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

  private func code(_ types: MMKVTypes = MMKVTypes()) -> ImportError.Code? {
    importErrorCode { try run(types, into: place.cache()) }
  }

  @Test func everyTypeIsRead() throws {
    var writer = MMKVWriter()
    let bits = MMKVWriter.word(Double(-0.1).bitPattern)
    writer.add("yes", [1])
    writer.add("no", [0])
    writer.add("int32", MMKVWriter.number(Int64(-7)))
    writer.add("uint32", MMKVWriter.number(UInt64(UInt32.max)))
    writer.add("int64", MMKVWriter.number(Int64.min))
    writer.add("uint64", MMKVWriter.number(UInt64.max))
    writer.add("float", MMKVWriter.word(Float(1.5).bitPattern))
    writer.add("double", bits)
    writer.add("string", MMKVWriter.held(Array("текст".utf8)))
    writer.add("empty", [0])
    writer.add("bytes", MMKVWriter.held([1, 2, 3]))
    writer.add("strings", MMKVWriter.held(MMKVWriter.held(Array("a".utf8)) + MMKVWriter.held([])))
    writer.add("date", MMKVWriter.word(Double(1_600_000_000.25).bitPattern))
    writer.add("archive", MMKVWriter.held(Array(try archive(NSArray(array: [NSString("x")])))))
    writer.add("untyped", MMKVWriter.held(Array("raw".utf8)))
    try writer.write(to: place, as: "store")
    let cache = try place.cache()
    let report = try run(
      [
        "yes": .bool, "no": .bool, "int32": .int32, "uint32": .uint32, "int64": .int64, "uint64": .uint64,
        "float": .float, "double": .double, "string": .string, "empty": .string, "bytes": .bytes, "strings": .strings,
        "date": .date, "archive": .archive,
      ], into: cache)
    #expect(report.taken == 15 && report.refusals.isEmpty && report.examined == 15)
    #expect(try cache.value(Bool.self, forKey: "yes") == true && cache.value(Bool.self, forKey: "no") == false)
    #expect(try cache.value(Int32.self, forKey: "int32") == -7)
    #expect(try cache.value(UInt32.self, forKey: "uint32") == .max)
    #expect(try cache.value(Int64.self, forKey: "int64") == .min)
    #expect(try cache.value(UInt64.self, forKey: "uint64") == .max)
    #expect(try cache.value(Double.self, forKey: "float") == 1.5)
    #expect(try cache.value(Double.self, forKey: "double") == -0.1)
    #expect(try cache.value(String.self, forKey: "string") == "текст")
    #expect(try cache.value(String.self, forKey: "empty") == "")
    #expect(try cache.value(Data.self, forKey: "bytes") == Data([1, 2, 3]))
    #expect(try cache.value([String].self, forKey: "strings") == ["a", ""])
    #expect((try cache.object(forKey: "strings") as? NSArray)?.count == 2)
    #expect(try cache.value(Date.self, forKey: "date") == Date(timeIntervalSince1970: 1_600_000_000.25))
    #expect(try cache.value([String].self, forKey: "archive") == ["x"])
    #expect(try cache.value(Data.self, forKey: "untyped") == Data([3] + Array("raw".utf8)))
  }

  @Test(arguments: [
    ("bool", [2] as [UInt8]), ("int32", MMKVWriter.number(Int64(Int32.max) + 1)), ("int32", [0x80]), ("int32", [1, 1]),
    ("uint32", MMKVWriter.number(Int64(-1))), ("int64", [UInt8](repeating: 0xFF, count: 11)),
    ("uint64", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]), ("float", [1, 2, 3]),
    ("double", [1, 2, 3, 4]), ("string", [1]), ("string", [2, 0xFF, 0xFE]), ("string", [1, 65, 66]), ("bytes", [9, 1]),
    ("strings", [2, 5, 65]), ("archive", [0x90]), ("date", [0]),
  ])
  func whatIsNotOfItsTypeIsRefused(_ type: String, _ value: [UInt8]) throws {
    var writer = MMKVWriter()
    writer.add("bad", value)
    writer.add("good", MMKVWriter.held(Array("x".utf8)))
    try writer.write(to: place, as: "store")
    var types: MMKVTypes = ["*": .string]
    types.set(try #require(MMKVType(rawValue: type)), forKey: "bad")
    let cache = try place.cache()
    let report = try run(types, into: cache)
    #expect(report.taken == 1 && report.refused == 1 && reasons(report) == ["bad": .wrongType])
    #expect(try cache.entries().map(\.key) == ["good"])
  }

  @Test func theLastValueCountsAndAnEmptyOneRemoves() throws {
    var writer = MMKVWriter()
    for (key, text) in [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("c", ""), ("d", "5"), ("d", ""), ("d", "6")] {
      writer.add(key, text.isEmpty ? [] : MMKVWriter.held(Array(text.utf8)))
    }
    try writer.write(to: place, as: "store")
    let cache = try place.cache()
    #expect(try run(["*": .string], into: cache).taken == 3)
    #expect(try ["a", "b", "c", "d"].map { try cache.value(String.self, forKey: $0) } == ["3", "2", nil, "6"])
  }

  /// Every width that versions of MMKV have written; since version 2, any four-byte number.
  @Test(
    arguments: [[7], [0x90, 0x01], [0xFF, 0xFF, 0xFF, 0x07], [0x81, 0x82, 0x83, 0x04]] as [[UInt8]], [0, 1, 2, 3, 4])
  func everyVersionIsRead(_ head: [UInt8], _ version: UInt32) throws {
    var writer = MMKVWriter()
    writer.head = head
    writer.version = version
    writer.add("key", MMKVWriter.held(Array("value".utf8)))
    try writer.write(to: place, as: "store")
    let cache = try place.cache()
    #expect(try run(["key": .string], into: cache).taken == 1)
    #expect(try cache.value(String.self, forKey: "key") == "value")
  }

  @Test func anEmptyStoreHasNoEntries() throws {
    try place.write([UInt8](repeating: 0, count: 4096), to: "store")
    try place.write([UInt8](repeating: 0, count: 4096), to: "store.crc")
    let report = try run(into: place.cache())
    #expect(report.isComplete && report.examined == 0)
  }

  @Test func expiriesAreKeptAndWhatHasExpiredIsLeft() throws {
    var writer = MMKVWriter()
    writer.flags = 1
    let text = MMKVWriter.held(Array("x".utf8))
    writer.add("never", text + MMKVWriter.word(UInt32(0)))
    writer.add("later", text + MMKVWriter.word(UInt32(1_700_000_100)))
    writer.add("now", text + MMKVWriter.word(UInt32(1_700_000_000)))
    writer.add("past", text + MMKVWriter.word(UInt32(1_600_000_000)))
    writer.add("far", text + MMKVWriter.word(UInt32.max))
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

  @Test func anEncryptedFileSaysSo() throws {
    var writer = MMKVWriter()
    writer.vector = (1...16).map { $0 }
    writer.head = [0x1B]
    var random = SeededRandom(7)
    // Not parsable as pairs, like almost any sixty random bytes.
    writer.append([0xF3] + random.bytes(60))
    try writer.write(to: place, as: "store")
    let error = importError { try run(into: place.cache()) }
    #expect(error?.code == .encryptedSource && error?.message.contains("reKey") == true)
  }

  @Test func aFileWithoutTheOneBesideItIsRefused() throws {
    var writer = MMKVWriter()
    writer.add("key", [1])
    try place.write(writer.file, to: "store")
    let error = importError { try run(into: place.cache()) }
    #expect(error?.code == .foreignSource && error?.message.contains("store.crc") == true)
  }

  @Test func aDirectoryNamesItsFiles() throws {
    var writer = MMKVWriter()
    writer.add("key", [1])
    try writer.write(to: place, as: "store/mmkv.default")
    try place.write([1], to: "store/other")
    let error = importError { try run(into: place.cache()) }
    #expect(error?.code == .foreignSource && error?.message.contains("mmkv.default.") == true)
    #expect(error?.message.contains("other") == false)
  }

  @Test(arguments: 0..<40)
  func anyDamageIsAnError(_ seed: Int) throws {
    var writer = MMKVWriter()
    for number in 0..<20 { writer.add("key \(number)", MMKVWriter.held(Array("value \(number)".utf8))) }
    var random = SeededRandom(UInt64(seed))
    var file = writer.file
    let end = 4 + writer.contents.count
    if seed % 5 == 0 {
      file = Array(file[..<Int.random(in: 0..<end, using: &random)])
    } else {
      file[Int.random(in: 4..<end, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
    }
    try place.write(file, to: "store")
    try place.write(writer.metadata, to: "store.crc")
    #expect(code() == .damagedSource)
  }

  /// MMKV falls back to it after a system crash.
  @Test func theLastFullStateIsTakenWhereTheRestIsDamaged() throws {
    var writer = MMKVWriter()
    writer.add("old", MMKVWriter.held(Array("1".utf8)))
    let full = writer.contents
    writer.add("new", MMKVWriter.held(Array("2".utf8)))
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

  /// An older version wrote last, and keeps the length in the file only.
  @Test func theLengthOfAnOlderVersionIsBelieved() throws {
    var writer = MMKVWriter()
    writer.add("key", MMKVWriter.held(Array("value".utf8)))
    try place.write(writer.file, to: "store")
    try place.write(
      writer.metadata(
        checksum: MMKVWriter.checksum(writer.contents), length: 5, lastChecksum: 0, lastLength: 0), to: "store.crc")
    #expect(try run(["*": .string], into: place.cache()).taken == 1)
  }

  /// Forged lengths with a valid checksum.
  @Test(
    arguments: [
      [0x05, 0x61], [0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x61], [0x01, 0x61, 0x7F, 0x00],
      [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0x01, 0xFF, 0x01, 0x00], [0x01, 0x61],
    ] as [[UInt8]])
  func lengthsThatLieAreAnError(_ pairs: [UInt8]) throws {
    var writer = MMKVWriter()
    writer.append(pairs)
    try writer.write(to: place, as: "store")
    #expect(code() == .encryptedSource)
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
    #expect(types == types && types != ["a*": .int32])
  }

  /// Prefixes that are equal as strings but not as bytes are distinct, like keys.
  @Test func typesAreFoundByTheBytesOfTheirBeginnings() {
    let types: MMKVTypes = ["\u{E9}*": .int32, "e\u{301}*": .string]
    #expect(types.type(of: "\u{E9}x") == .int32 && types.type(of: "e\u{301}x") == .string)
    let (first, second): (MMKVTypes, MMKVTypes) = (["\u{E9}*": .int32], ["e\u{301}*": .int32])
    #expect(first != second)
    // Combines with an asterisk into one character.
    let arabic: MMKVTypes = ["\u{600}*": .bool]
    #expect(arabic.type(of: "\u{600}1") == .bool)
  }
}
