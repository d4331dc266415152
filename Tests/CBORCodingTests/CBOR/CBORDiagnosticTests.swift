import Foundation
import Testing

@testable import CBORCoding

@Suite struct CBORDiagnosticTests {
  func text(_ bytes: [UInt8], limit: Int = 1 << 20) throws -> String {
    try CBORDiagnostic(bytes.span.bytes, limit: limit).text
  }

  @Test(arguments: CBORVector.all) func examplesOfTheStandardAreShownAsThere(_ vector: CBORVector) throws {
    #expect(try text(vector.bytes) == vector.diagnostic)
  }

  @Test(arguments: [
    ("5fff", "''_"), ("7fff", "\"\"_"), ("bfff", "{_ }"), ("c280", "2([])"), ("a1f6f7", "{null: undefined}"),
    ("c2581100000000000000000000000000000000ff", "255"),
    ("c251ff00000000000000000000000000000000", "2(h'ff00000000000000000000000000000000')"),
    ("c15f4101ff", "1((_ h'01'))"), ("a18001", "{[]: 1}"), ("820a09", "[10, 9]"), ("62090a", #""\t\n""#),
    ("6100", "\"\\u0000\""),
    ("63e280ae", "\"\\u202e\""), ("64f3a08181", "\"\\udb40\\udc41\""), ("67f09f91a9e2808d", "\"👩\\u200d\""), ("61", ""),
    ("f4", "false"),
  ])
  func otherItemsAreShown(_ hex: String, _ expected: String) throws {
    if expected.isEmpty {
      #expect(throws: CBORCodingError.self) { try text([UInt8](hex: hex)) }
    } else {
      #expect(try text([UInt8](hex: hex)) == expected)
    }
  }

  @Test(arguments: CBORVector.malformed) func malformedInputIsAnError(_ hex: String) {
    #expect(throws: CBORCodingError.self) { try text([UInt8](hex: hex)) }
  }

  @Test(arguments: 0..<60) func theLengthIsLimited(_ limit: Int) throws {
    let items: [CBORItem] = [
      .array(Array(repeating: .integer(1), count: 1_000)), .bytes(Array(repeating: 7, count: 1_000)),
      .text(String(repeating: "\u{1F600}\0", count: 1_000)), .map((0..<500).map { (.integer($0), .null) }),
      (0..<300).reduce(CBORItem.null) { item, _ in .array([item]) }, .text("short"),
    ]
    for item in items {
      for bytes in [item.encoded, item.indefinite] {
        let diagnostic = try CBORDiagnostic(bytes.span.bytes, limit: limit)
        let whole = try text(bytes)
        #expect(diagnostic.text.utf8.count <= limit + 30)
        #expect(diagnostic.isCut == (diagnostic.text != whole))
        if diagnostic.isCut {
          #expect(diagnostic.text.hasSuffix("…") && whole.hasPrefix(diagnostic.text.dropLast()))
        }
      }
    }
  }
}
