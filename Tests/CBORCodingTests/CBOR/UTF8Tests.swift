import TestSupport
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

  @Test(arguments: edges) func fourBytesWhereTheirClassesMeet(_ first: UInt8) {
    check([first])
    for second in UInt8.min...UInt8.max { check([first, second]) }
    for second in Self.edges {
      for third in Self.edges {
        check([first, second, third])
        for fourth in Self.edges { check([first, second, third, fourth]) }
      }
    }
  }

  /// Validation skips ASCII eight bytes at a time: before, within and at the end of a text.
  @Test(arguments: ["é", "€", "😀", "\u{FFFF}", "\u{10FFFF}"]) func otherScalarsAmongASCII(_ scalar: String) {
    for before in 0...17 {
      for after in 0...17 {
        let bytes = Array(String(repeating: "a", count: before).utf8) + scalar.utf8 + scalar.utf8
        let rest = Array(String(repeating: "z", count: after).utf8)
        for text in [bytes + rest, bytes.dropLast() + rest, bytes + rest + [0x80]] { check(text) }
      }
    }
  }
}
