import Foundation
import TestSupport
import Testing

@testable import CBORCoding

@Suite struct CBORItemTests {
  func code(_ hex: String, _ body: (inout CBORReader) throws(CBORError) -> Void) -> CBORError.Code? {
    [UInt8](hex: hex).withBytes { bytes in
      var reader = CBORReader(bytes)
      do throws(CBORError) { try body(&reader) } catch { return error.code }
      return nil
    }
  }

  @Test(arguments: CBORVector.all) func examplesOfTheStandardAreReadAndWritten(_ vector: CBORVector) throws {
    let item = try CBORItem(vector.bytes)
    if vector.isDeterministic { #expect(item.encoded.hex == vector.hex) }
    let again = item.encoded
    #expect(try CBORItem(again).encoded == again)
  }

  @Test(arguments: CBORVector.malformed) func malformedInputIsAnError(_ hex: String) {
    #expect(throws: CBORError.self) { try CBORItem([UInt8](hex: hex)) }
    // Also nested, and at the end of the input.
    #expect(throws: CBORError.self) { try CBORItem([UInt8](hex: "81" + hex)) }
    #expect(throws: CBORError.self) { try CBORItem([UInt8](hex: "8201" + hex)) }
    #expect(throws: CBORError.self) { try CBORItem([UInt8](hex: "d9d9f7" + hex)) }
  }

  @Test func everyInputOfTwoBytesIsReadOrRefused() {
    for word in 0...UInt16.max {
      let bytes = [UInt8(word >> 8), UInt8(word & 0xFF)]
      for count in 1...2 { _ = try? CBORItem(Array(bytes.prefix(count))) }
    }
  }

  @Test func errorsSayWhatAndWhere() {
    #expect(code("8261611c") { (reader) throws(CBORError) in try reader.skip() } == .reservedInformation)
    #expect(
      code("0000") { (reader) throws(CBORError) in
        try reader.skip()
        try reader.finish()
      } == .trailingBytes)
    #expect(
      code("9bffffffffffffffff") { (reader) throws(CBORError) in _ = try reader.readArrayHead() } == .lengthOverInput)
    #expect(
      code("bb8000000000000000") { (reader) throws(CBORError) in _ = try reader.readMapHead() } == .lengthOverInput)
    #expect(code("a20000") { (reader) throws(CBORError) in _ = try reader.readMapHead() } == .lengthOverInput)
    #expect(code("7affffffff") { (reader) throws(CBORError) in _ = try reader.readText() } == .lengthOverInput)
    #expect(code("61ff") { (reader) throws(CBORError) in _ = try reader.readText() } == .invalidUTF8)
    #expect(code("7f61c361bcff") { (reader) throws(CBORError) in _ = try reader.readText() } == .invalidUTF8)
    #expect(code("7f4100ff") { (reader) throws(CBORError) in _ = try reader.readText() } == .wrongChunk)
    #expect(code("01") { (reader) throws(CBORError) in _ = try reader.readText() } == .unexpectedItem)
    #expect(code("01") { (reader) throws(CBORError) in _ = try reader.readDouble() } == .unexpectedItem)
    #expect(code("f6") { (reader) throws(CBORError) in _ = try reader.readBool() } == .unexpectedItem)
    let error = #expect(throws: CBORError.self) { try CBORItem([UInt8](hex: "83010261ff")) }
    #expect(error == CBORError(.invalidUTF8, at: 3))
    #expect(error?.description.contains("byte 3") == true)
  }

  // MARK: Integers

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

  @Test func integersOfEveryWidthComeBack() throws {
    func borders<I: FixedWidthInteger>(_ type: I.Type) throws {
      for bit in 0..<I.bitWidth {
        for value in [I(1) << bit, (I(1) << bit) &- 1, ~(I(1) << bit), 0 &- (I(1) << bit)] { try roundTrip(value) }
      }
      for value in [I.min, .max, 0] { try roundTrip(value) }
    }
    try borders(Int.self)
    try borders(Int8.self)
    try borders(Int16.self)
    try borders(Int32.self)
    try borders(Int64.self)
    try borders(Int128.self)
    try borders(UInt.self)
    try borders(UInt8.self)
    try borders(UInt16.self)
    try borders(UInt32.self)
    try borders(UInt64.self)
    try borders(UInt128.self)
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

  @Test func integersThatDoNotFitAreRefused() {
    #expect(code("190100") { (reader) throws(CBORError) in _ = try reader.readInteger(UInt8.self) } == .outOfRange)
    #expect(code("20") { (reader) throws(CBORError) in _ = try reader.readInteger(UInt.self) } == .outOfRange)
    #expect(code("c340") { (reader) throws(CBORError) in _ = try reader.readInteger(UInt.self) } == .outOfRange)
    #expect(code("3880") { (reader) throws(CBORError) in _ = try reader.readInteger(Int8.self) } == .outOfRange)
    #expect(code("387f") { (reader) throws(CBORError) in _ = try reader.readInteger(Int8.self) } == nil)
    let wide = "c251" + String(repeating: "ff", count: 17)
    #expect(code(wide) { (reader) throws(CBORError) in _ = try reader.readInteger(UInt128.self) } == .outOfRange)
    #expect(code(wide) { (reader) throws(CBORError) in _ = try reader.readInteger(Int128.self) } == .outOfRange)
    #expect(code("c101") { (reader) throws(CBORError) in _ = try reader.readInteger(Int.self) } == .unexpectedItem)
    #expect(code("c26101") { (reader) throws(CBORError) in _ = try reader.readInteger(Int.self) } == .unexpectedItem)
    #expect(code("f93c00") { (reader) throws(CBORError) in _ = try reader.readInteger(Int.self) } == .unexpectedItem)
  }

  // MARK: Floating-point numbers

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
      var writer = CBORWriter()
      writer.writeFloat(value)
      writer.writeDouble(Double(value))
      let expected: [UInt8] = [0xF9, UInt8(bits >> 8), UInt8(bits & 0xFF)]
      #expect(writer.withBytes { $0.array } == expected + expected)
    }
  }

  #if !(os(macOS) && arch(x86_64))
    @Test func halvesAreThoseOfTheProcessor() {
      for bits in 0...UInt16.max {
        let value = Float(Float16(bitPattern: bits))
        if !value.isNaN { #expect(CBORHalfPrecision.float(bits).bitPattern == value.bitPattern) }
      }
      var random = SeededRandom(1)
      for _ in 0..<100_000 {
        let value = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()) & 0xFFFF_F000)
        if value.isNaN { continue }
        #expect(CBORHalfPrecision.bits(exactly: value) == Float16(exactly: value)?.bitPattern)
      }
    }
  #endif

  @Test func floatingPointNumbersAreAsShortAsTheirValueAllows() throws {
    var random = SeededRandom(2)
    var values: [Double] = [0.1, .pi, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 65504, 65505, 65520, 0x1p-25]
    for _ in 0..<10_000 {
      let bits = random.next()
      values.append(Double(bitPattern: bits))
      values.append(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
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
      if bytes.count >= 5 {
        #expect(CBORHalfPrecision.bits(exactly: Float(value)) == nil || Double(Float(value)) != value)
      }
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

  @Test(arguments: [
    "", "é", "e\u{301}", "\u{1F469}\u{200D}\u{1F680}", "\0", "\u{10FFFF}", "日本語 and more text", "12345678é",
  ])
  func textIsKeptByteForByte(_ text: String) throws {
    // Bridged and sliced strings have no contiguous UTF-8.
    for text in [text, String(("x" + text + "y").dropFirst().dropLast())] {
      var writer = CBORWriter(capacity: 1)
      writer.writeText(text)
      let item = try writer.withBytes { (bytes) throws(CBORError) in try CBORItem(bytes) }
      guard case .text(let read) = item else {
        Issue.record("\(item)")
        continue
      }
      #expect(Array(read.utf8) == Array(text.utf8))
    }
  }

  // MARK: Nesting

  func nested(_ opening: String, _ depth: Int, _ closing: String = "") -> String {
    String(repeating: opening, count: depth) + "00" + String(repeating: closing, count: depth)
  }

  @Test(arguments: [("81", ""), ("9f", "ff"), ("c6", ""), ("a100", ""), ("bf00", "ff")])
  func depthIsLimited(_ opening: String, _ closing: String) {
    let skip = { (reader: inout CBORReader) throws(CBORError) in try reader.skip() }
    #expect(code(nested(opening, 512, closing), skip) == nil)
    #expect(code(nested(opening, 513, closing), skip) == .tooDeep)
    #expect(code(nested(opening, 200_000, closing), skip) == .tooDeep)
    #expect(code(String(repeating: opening, count: 200_000), skip) == .tooDeep)
  }
}
