import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// The forms of RFC 8949, and their diagnostic notation.
@Suite struct CBORItemTests {
  func diagnostic(_ bytes: [UInt8], limit: Int = 1 << 20) throws -> String {
    try CBORDiagnostic(bytes.span.bytes, limit: limit).text
  }

  func encoded(_ value: some Encodable) throws -> [UInt8] { try Array(CBOREncoder().encode(value)) }

  @Test(arguments: CBORVector.all) func examplesOfTheStandard(_ vector: CBORVector) throws {
    let item = try CBORItem(vector.bytes)
    if vector.isDeterministic { #expect(item.encoded.hex == vector.hex) }
    let again = item.encoded
    #expect(try CBORItem(again).encoded == again)
    #expect(try diagnostic(vector.bytes) == vector.diagnostic)
  }

  @Test(arguments: CBORVector.malformed) func malformedInputIsAnError(_ hex: String) {
    // Also nested, and at the end of the input.
    for before in ["", "81", "8201", "d9d9f7"] {
      let bytes = [UInt8](hex: before + hex)
      #expect(throws: CBORError.self) { try CBORItem(bytes) }
      #expect(throws: CBORCodingError.self) { try diagnostic(bytes) }
      let found = CBORErrorTests.summary { try CBORDecoder().decode(PayloadShape.self, from: Data(bytes)) }
      #expect(found == "dataCorrupted at ")
    }
  }

  // MARK: Numbers

  func roundTripBorders<I: FixedWidthInteger & Codable>(_ type: I.Type) throws {
    var values: [I] = [.min, .max, 0]
    for bit in 0..<I.bitWidth {
      let power = I(1) << bit
      values += [power, power &- 1, ~power, 0 &- power]
    }
    let bytes = try encoded(values)
    #expect(try CBORDecoder().decode([I].self, from: Data(bytes)) == values)
    #expect(try CBORItem(bytes).encoded == bytes)
  }

  @Test func integersOfEveryWidthComeBack() throws {
    let types: [any (FixedWidthInteger & Codable).Type] = [
      Int.self, Int8.self, Int16.self, Int32.self, Int64.self, Int128.self, UInt.self, UInt8.self, UInt16.self,
      UInt32.self, UInt64.self, UInt128.self,
    ]
    for type in types { try roundTripBorders(type) }
  }

  @Test(
    arguments: [
      ("1818", 24), ("1800", 0), ("1b0000000000000001", 1), ("3800", -1), ("c240", 0), ("c340", -1), ("c2410a", 10),
      ("c2581e00000000000000000000000000000000000000000000000000000000002a", 42), ("c25f4101410aff", 266),
      ("c26101", nil), ("c251ffffffffffffffffffffffffffffffffff", nil),
    ] as [(String, Int?)])
  func integersInOtherFormsAreRead(_ hex: String, _ value: Int?) {
    #expect((try? CBORDecoder().decode(Int.self, from: Data([UInt8](hex: hex)))) == value)
  }

  @Test func everyHalfComesBackAndIsWrittenShort() throws {
    for bits in 0...UInt16.max {
      let bytes: [UInt8] = [0xF9, UInt8(bits >> 8), UInt8(bits & 0xFF)]
      let value = try CBORDecoder().decode(Float.self, from: Data(bytes))
      let shortest = value.isNaN ? [0xF9, 0x7E, 0] : bytes
      #expect(try encoded(value) == shortest && encoded(Double(value)) == shortest)
      #if !(os(macOS) && arch(x86_64))
        let half = Float(Float16(bitPattern: bits))
        #expect(value.bitPattern == half.bitPattern || value.isNaN && half.isNaN)
      #endif
    }
  }

  @Test func floatingPointNumbersAreAsShortAsTheirValueAllows() throws {
    var random = SeededRandom(2)
    var values: [Double] = [
      0.1, .pi, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 65504, 65505, 65520, 0x1p-25, .signalingNaN,
      Double(bitPattern: 0x7FF8_0000_DEAD_BEEF),
    ]
    for _ in 0..<10_000 {
      let bits = random.next()
      values.append(Double(bitPattern: bits))
      values.append(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
      values.append(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits) & 0xFFFF_F000)))
    }
    for value in values {
      let bytes = try encoded(value)
      guard !value.isNaN else {
        #expect(bytes == [0xF9, 0x7E, 0])
        continue
      }
      #expect(try CBORDecoder().decode(Double.self, from: Data(bytes)).bitPattern == value.bitPattern)
      if bytes.count == 9 { #expect(Double(Float(value)) != value) }
      #if !(os(macOS) && arch(x86_64))
        #expect((bytes.count == 3) == (Float16(exactly: value) != nil))
      #endif
    }
  }

  // MARK: Lengths

  struct Lengths: Codable, Equatable {
    var text: String
    var data: Data
    var list: [PayloadShape]
    var map: [String: Bool]
  }

  @Test(arguments: [0, 1, 23, 24, 255, 256, 65_535, 65_536]) func everyLengthComesBack(_ count: Int) throws {
    let value = Lengths(
      text: String(repeating: "x", count: count), data: Data(repeating: 7, count: count),
      list: Array(repeating: PayloadShape.none, count: count),
      map: Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", true) }))
    let bytes = try encoded(value)
    #expect(try CBORDecoder().decode(Lengths.self, from: Data(bytes)) == value)
    #expect(try CBORItem(bytes).encoded == bytes)
  }

  // MARK: Diagnostic notation

  @Test(arguments: [
    ("5fff", "''_"), ("7fff", "\"\"_"), ("bfff", "{_ }"), ("c280", "2([])"), ("a1f6f7", "{null: undefined}"),
    ("c2581100000000000000000000000000000000ff", "255"),
    ("c251ff00000000000000000000000000000000", "2(h'ff00000000000000000000000000000000')"),
    ("c15f4101ff", "1((_ h'01'))"), ("a18001", "{[]: 1}"), ("820a09", "[10, 9]"), ("62090a", #""\t\n""#),
    ("6100", "\"\\u0000\""), ("63e280ae", "\"\\u202e\""), ("64f3a08181", "\"\\udb40\\udc41\""),
    ("67f09f91a9e2808d", "\"👩\\u200d\""),
  ])
  func otherItemsAreShown(_ hex: String, _ expected: String) throws {
    #expect(try diagnostic([UInt8](hex: hex)) == expected)
  }

  @Test(arguments: 0..<60) func theLengthIsLimited(_ limit: Int) throws {
    let items: [CBORItem] = [
      .array(Array(repeating: .integer(1), count: 1_000)), .bytes(Array(repeating: 7, count: 1_000)),
      .text(String(repeating: "\u{1F600}\0", count: 1_000)), .map((0..<500).map { (.integer($0), .null) }),
      (0..<300).reduce(CBORItem.null) { item, _ in .array([item]) }, .text("short"),
    ]
    for bytes in items.map(\.encoded) + items.map(\.indefinite) {
      let short = try CBORDiagnostic(bytes.span.bytes, limit: limit)
      let whole = try diagnostic(bytes)
      #expect(short.text.utf8.count <= limit + 30)
      #expect(short.isCut == (short.text != whole))
      if short.isCut { #expect(short.text.hasSuffix("…") && whole.hasPrefix(short.text.dropLast())) }
    }
  }
}
