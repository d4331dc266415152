import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// Foundation's types with a dedicated form in CBOR.
@Suite struct CBORFoundationTests {
  func encoded(_ value: some Encodable) throws -> String { try [UInt8](CBOREncoder().encode(value)).hex }

  func decoded<T: Decodable>(_ type: T.Type, _ hex: String) throws -> T {
    try CBORDecoder().decode(type, from: Data([UInt8](hex: hex)))
  }

  @Test func formsAreTheShortestThatAreExact() throws {
    let uuid = UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")!
    let rows: [(any Encodable, String)] = [
      (Date(timeIntervalSince1970: 1_363_896_240), "c11a514b67b0"),
      (Date(timeIntervalSince1970: 1_363_896_240.5), "c1fb41d452d9ec200000"),
      (Date(timeIntervalSince1970: -1), "c120"), (Date(timeIntervalSinceReferenceDate: 0), "c11a3a4fc880"),
      // Seconds since 1970 cannot represent a step of 2^-23 s in 2026.
      (Date(timeIntervalSinceReferenceDate: 800_000_000 + 0x1p-23), "d903e9a10582361b0034ff6840000001"),
      (Date(timeIntervalSinceReferenceDate: -0.0), "f98000"),
      (Date(timeIntervalSinceReferenceDate: .infinity), "c1f97c00"),
      (Date(timeIntervalSinceReferenceDate: 1e300), "fb7e37e43c8800759c"),
      (Decimal(string: "273.15")!, "c48221196ab3"), (Decimal(string: "1.50")!, "c482200f"),
      (Decimal(string: "1.5")!, "c482200f"), (Decimal(100), "c4820201"), (Decimal(0), "c4820000"),
      (Decimal(-1), "c4820020"), (Decimal.nan, "f97e00"),
      (Data([1, 2]), "420102"), (Data([0, 1, 2, 3])[1...2], "420102"),
      (uuid, "d82550000102030405060708090a0b0c0d0e0f"),
      (URL(string: "http://www.example.com")!, "d82076687474703a2f2f7777772e6578616d706c652e636f6d"),
    ]
    for (value, hex) in rows { #expect(try encoded(value) == hex, "\(value)") }
  }

  // MARK: Date

  @Test func everyDateComesBackBitForBit() throws {
    var random = SeededRandom(3)
    var seconds: [Double] = [
      0, -0.0, 0.1, 1e-300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity, .ulpOfOne, 1e17,
      -1e17, 0x1p53, 0x1p63, -Date.timeIntervalBetween1970AndReferenceDate,
      Date.distantPast.timeIntervalSinceReferenceDate, Date.distantFuture.timeIntervalSinceReferenceDate,
    ]
    for _ in 0..<20_000 {
      seconds.append(Double(bitPattern: random.next()))
      for bound in [1e10, 9e8, 1] { seconds.append(Double.random(in: -bound...bound, using: &random)) }
    }
    seconds.removeAll(where: \.isNaN)
    let bytes = try CBOREncoder().encode(seconds.map { Date(timeIntervalSinceReferenceDate: $0) })
    let read = try CBORDecoder().decode([Date].self, from: bytes)
    for (date, second) in zip(read, seconds) {
      #expect(date.timeIntervalSinceReferenceDate.bitPattern == second.bitPattern, "\(second)")
    }
    #expect(try CBOREncoder().encode(read) == bytes)
    let notANumber = try decoded(Date.self, encoded(Date(timeIntervalSinceReferenceDate: .nan)))
    #expect(notANumber.timeIntervalSinceReferenceDate.isNaN)
    // A plain number is what `Date` encodes itself. Decoding as a number ignores the tag.
    #expect(try decoded(Date.self, "f93e00") == Date(timeIntervalSinceReferenceDate: 1.5))
    #expect(try decoded(Date.self, "18ff") == Date(timeIntervalSinceReferenceDate: 255))
    #expect(try decoded(Double.self, "c118ff") == 255)
  }

  @Test(
    arguments: [
      ("c100", 0.0), ("c1f90000", 0), ("c118ff", 255), ("d9d9f7c100", 0), ("c1d9d9f700", 0), ("c1fa3fc00000", 1.5),
      ("d903e9a10101", 1), ("d903e9a101fb3ff8000000000000", 1.5), ("d903e9a1048220190fa0", 400),
      ("d903e9a104822118fa", 2.5), ("d903e9a105822003", 1.5), ("d903e9a105820203", 12),
      ("c1c249010000000000000000", nil), ("bf", nil), ("d903e9a20101200a", nil), ("c16130", nil), ("d903e900", nil),
      ("d903e9a1616100", nil), ("d903e9a105821bffffffffffffffff00", nil),
      ("d903e9a105823b7fffffffffffffff1b7fffffffffffffff", nil),
    ] as [(String, Double?)])
  func datesOfOthersAreRead(_ hex: String, _ epoch: Double?) {
    #expect((try? decoded(Date.self, hex)) == epoch.map { Date(timeIntervalSince1970: $0) })
  }

  // MARK: Decimal

  @Test func everyDecimalComesBack() throws {
    var random = SeededRandom(4)
    var values: [Decimal] = [
      0, 1, -1, .nan, .greatestFiniteMagnitude, .leastFiniteMagnitude, .leastNonzeroMagnitude, .pi,
      Decimal(string: "340282366920938463463374607431768211455e-128")!, Decimal(UInt64.max), Decimal(Int64.min),
    ]
    for _ in 0..<2_000 {
      let digits = (0..<Int.random(in: 1...38, using: &random)).map { _ in "\(random.below(10))" }.joined()
      let exponent = Int.random(in: -128...90, using: &random)
      values.append(Decimal(string: (random.below(2) == 0 ? "-" : "") + "\(digits)e\(exponent)")!)
    }
    let bytes = try CBOREncoder().encode(values)
    let read = try CBORDecoder().decode([Decimal].self, from: bytes)
    for (a, b) in zip(read, values) { #expect(a == b || (a.isNaN && b.isNaN), "\(b)") }
    #expect(try CBOREncoder().encode(read) == bytes)
  }

  @Test(
    arguments: [
      ("05", "5"), ("20", "-1"), ("f93e00", "1.5"), ("fb3fb999999999999a", "0.1"),
      ("c249010000000000000000", "18446744073709551616"), ("c348ffffffffffffffff", "-18446744073709551616"),
      ("c4822003", "0.3"), ("c48219008005", "50e127"), ("c482188800", "0"), ("c482188005", "50e127"),
      ("c48238801832", "5e-128"), ("c482388005", nil), ("c48238641b8ac7230489e80000", "10000000000000000000e-101"),
      ("c482187fc250ffffffffffffffffffffffffffffffff", "340282366920938463463374607431768211455e127"),
      ("c482387fc350fffffffffffffffffffffffffffffffe", "-340282366920938463463374607431768211455e-128"),
      ("c48200c25100000000000000000000000000000000ff", "255"), ("c48200c251ff00000000000000000000000000000000", nil),
      ("c400", nil), ("c48100", nil), ("c482613000", nil), ("6131", nil), ("f97c00", nil),
      ("c4821bffffffffffffffff00", nil), ("c4821a7fffffff01", nil),
    ] as [(String, String?)])
  func decimalsOfOthersAreRead(_ hex: String, _ text: String?) {
    #expect((try? decoded(Decimal.self, hex)) == text.flatMap { Decimal(string: $0) })
  }

  // MARK: Data, UUID, URL

  @Test func otherTypes() throws {
    let uuid = UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")!
    #expect(try decoded(Data.self, "83010203") == Data([1, 2, 3]))
    #expect(try decoded(Data.self, "5f4101420203ff") == Data([1, 2, 3]))
    #expect(try decoded(Data.self, "d74401020304") == Data([1, 2, 3, 4]))
    #expect(try decoded(UUID.self, "50000102030405060708090a0b0c0d0e0f") == uuid)
    #expect(try decoded(UUID.self, CBORItem.text(uuid.uuidString).encoded.hex) == uuid)
    #expect(try decoded(URL.self, CBORItem.text("a:b").encoded.hex) == URL(string: "a:b"))
    let wrong: [(any Decodable.Type, [String])] = [
      (Data.self, ["6161", "81190100"]), (UUID.self, ["d8254100", "6161"]), (URL.self, ["60", "00"]),
    ]
    for (type, inputs) in wrong {
      for hex in inputs { #expect(throws: DecodingError.self) { _ = try decoded(type, hex) } }
    }
  }
}
