import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// The item layer: reader, writer, and diagnostic notation.
@Suite struct CBORItemTests {
  func code(_ hex: String, _ body: (inout CBORReader) throws -> Void) -> CBORError.Code? {
    [UInt8](hex: hex).withBytes { bytes in
      var reader = CBORReader(bytes)
      do { try body(&reader) } catch { return (error as? CBORError)?.code }
      return nil
    }
  }

  func diagnostic(_ bytes: [UInt8], limit: Int = 1 << 20) throws -> String {
    try CBORDiagnostic(bytes.span.bytes, limit: limit).text
  }

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

  @Test func errorsSayWhatAndWhere() {
    let wide = "c251" + String(repeating: "ff", count: 17)
    let rows: [(String, CBORError.Code?, (inout CBORReader) throws -> Void)] = [
      ("8261611c", .reservedInformation, { try $0.skip() }),
      (
        "0000", .trailingBytes,
        {
          try $0.skip(); try $0.finish()
        }
      ),
      ("9bffffffffffffffff", .lengthOverInput, { _ = try $0.readArrayHead() }),
      ("bb8000000000000000", .lengthOverInput, { _ = try $0.readMapHead() }),
      ("a20000", .lengthOverInput, { _ = try $0.readMapHead() }),
      ("7affffffff", .lengthOverInput, { _ = try $0.readText() }),
      ("61ff", .invalidUTF8, { _ = try $0.readText() }),
      ("7f61c361bcff", .invalidUTF8, { _ = try $0.readText() }),
      ("7f4100ff", .wrongChunk, { _ = try $0.readText() }),
      ("01", .unexpectedItem, { _ = try $0.readText() }),
      ("01", .unexpectedItem, { _ = try $0.readDouble() }),
      ("f6", .unexpectedItem, { _ = try $0.readBool() }),
      ("190100", .outOfRange, { _ = try $0.readInteger(UInt8.self) }),
      ("20", .outOfRange, { _ = try $0.readInteger(UInt.self) }),
      ("c340", .outOfRange, { _ = try $0.readInteger(UInt.self) }),
      ("3880", .outOfRange, { _ = try $0.readInteger(Int8.self) }),
      ("387f", nil, { _ = try $0.readInteger(Int8.self) }),
      (wide, .outOfRange, { _ = try $0.readInteger(UInt128.self) }),
      (wide, .outOfRange, { _ = try $0.readInteger(Int128.self) }),
      ("c101", .unexpectedItem, { _ = try $0.readInteger(Int.self) }),
      ("c26101", .unexpectedItem, { _ = try $0.readInteger(Int.self) }),
      ("f93c00", .unexpectedItem, { _ = try $0.readInteger(Int.self) }),
    ]
    for (hex, expected, body) in rows { #expect(code(hex, body) == expected, "\(hex)") }
    let error = #expect(throws: CBORError.self) { try CBORItem([UInt8](hex: "83010261ff")) }
    #expect(error == CBORError(.invalidUTF8, at: 3))
    #expect(error?.description.contains("byte 3") == true)
  }

  // MARK: Numbers

  func roundTrip<I: FixedWidthInteger>(_ value: I) throws {
    var writer = CBORWriter()
    writer.writeInteger(value)
    try writer.withBytes { (bytes) throws(CBORError) in
      var reader = CBORReader(bytes)
      #expect(try reader.readInteger(I.self) == value)
      try reader.finish()
      reader.move(to: 0)
      if let wide = Int128(exactly: value) { #expect(try reader.readInteger(Int128.self) == wide) }
    }
  }

  func roundTripBorders<I: FixedWidthInteger>(_ type: I.Type) throws {
    for bit in 0..<I.bitWidth {
      for value in [I(1) << bit, (I(1) << bit) &- 1, ~(I(1) << bit), 0 &- (I(1) << bit)] { try roundTrip(value) }
    }
    for value in [I.min, .max, 0] { try roundTrip(value) }
  }

  @Test func integersOfEveryWidthComeBack() throws {
    let types: [any FixedWidthInteger.Type] = [
      Int.self, Int8.self, Int16.self, Int32.self, Int64.self, Int128.self, UInt.self, UInt8.self, UInt16.self,
      UInt32.self, UInt64.self, UInt128.self,
    ]
    for type in types { try roundTripBorders(type) }
  }

  @Test(arguments: [
    ("1818", 24), ("1800", 0), ("1b0000000000000001", 1), ("3800", -1), ("c240", 0), ("c340", -1), ("c2410a", 10),
    ("c2581e00000000000000000000000000000000000000000000000000000000002a", 42), ("c25f4101410aff", 266),
  ])
  func integersInOtherFormsAreRead(_ hex: String, _ value: Int) throws {
    try [UInt8](hex: hex).withBytes { (bytes) throws(CBORError) in
      var reader = CBORReader(bytes)
      #expect(try reader.readInteger() == value)
    }
  }

  func encoded(_ value: Double) -> [UInt8] {
    var writer = CBORWriter()
    writer.writeDouble(value)
    return writer.withBytes { $0.array }
  }

  @Test func everyHalfComesBackAndIsWrittenShort() throws {
    for bits in 0...UInt16.max {
      let value = CBORHalfPrecision.float(bits)
      guard !value.isNaN else {
        #expect(encoded(Double(value)).hex == "f97e00")
        continue
      }
      #expect(CBORHalfPrecision.bits(exactly: value) == bits)
      #if !(os(macOS) && arch(x86_64))
        #expect(value.bitPattern == Float(Float16(bitPattern: bits)).bitPattern)
      #endif
      var writer = CBORWriter()
      writer.writeFloat(value)
      writer.writeDouble(Double(value))
      let expected: [UInt8] = [0xF9, UInt8(bits >> 8), UInt8(bits & 0xFF)]
      #expect(writer.withBytes { $0.array } == expected + expected)
    }
  }

  @Test func floatingPointNumbersAreAsShortAsTheirValueAllows() throws {
    var random = SeededRandom(2)
    var values: [Double] = [0.1, .pi, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 65504, 65505, 65520, 0x1p-25]
    for _ in 0..<10_000 {
      let bits = random.next()
      values.append(Double(bitPattern: bits))
      values.append(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
      values.append(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits) & 0xFFFF_F000)))
    }
    for value in values {
      let bytes = encoded(value)
      try bytes.withBytes { (bytes) throws(CBORError) in
        var reader = CBORReader(bytes)
        let read = try reader.readDouble()
        #expect(read.bitPattern == value.bitPattern || read.isNaN && value.isNaN)
      }
      if value.isNaN { continue }
      if bytes.count == 9 { #expect(Double(Float(value)) != value) }
      #if !(os(macOS) && arch(x86_64))
        #expect((bytes.count == 3) == (Float16(exactly: value) != nil))
      #endif
    }
  }

  // MARK: Strings

  @Test(arguments: [0, 1, 23, 24, 255, 256, 65535, 65536, 1 << 20])
  func stringsOfEveryLengthComeBack(_ count: Int) throws {
    let text = String(repeating: "x", count: count)
    var writer = CBORWriter()
    writer.writeText(text)
    writer.writeBytes(Data(text.utf8))
    try writer.withBytes { (bytes) throws(CBORError) in
      var reader = CBORReader(bytes)
      #expect(try reader.readText() == text)
      #expect(try reader.readByteString() == Array(text.utf8))
      try reader.finish()
      reader.move(to: 0)
      try reader.skip()
      try reader.skip()
      try reader.finish()
    }
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
    for item in items {
      for bytes in [item.encoded, item.indefinite] {
        let short = try CBORDiagnostic(bytes.span.bytes, limit: limit)
        let whole = try diagnostic(bytes)
        #expect(short.text.utf8.count <= limit + 30)
        #expect(short.isCut == (short.text != whole))
        if short.isCut { #expect(short.text.hasSuffix("…") && whole.hasPrefix(short.text.dropLast())) }
      }
    }
  }
}
