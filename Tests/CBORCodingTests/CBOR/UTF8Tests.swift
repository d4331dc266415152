import Testing

@testable import CBORCoding

/// UTF-8 validation, compared with the standard library's.
@Suite struct UTF8Tests {
  /// The bounds of the byte classes.
  static let edges: [UInt8] = [
    0, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
    0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
  ]

  func check(_ bytes: [UInt8]) {
    let expected = String(validating: bytes, as: UTF8.self) != nil
    if bytes.withBytes({ CBORReader.isUTF8($0) }) != expected {
      Issue.record("\(bytes) is \(expected ? "" : "not ")UTF-8")
    }
  }

  /// Validation skips ASCII eight bytes at a time: before, within and at the end of a text.
  @Test(arguments: edges) func scalarsAreValidated(_ first: UInt8) {
    for second in UInt8.min...UInt8.max { check([first, second]) }
    for second in Self.edges {
      for third in Self.edges {
        for fourth in Self.edges { check([first, second, third, fourth]) }
        let ascii = [UInt8](repeating: 0x61, count: Int(third) % 18)
        check(ascii + [first, second] + ascii)
        check(ascii + "é€😀".utf8 + ascii + [first])
      }
    }
  }
}
