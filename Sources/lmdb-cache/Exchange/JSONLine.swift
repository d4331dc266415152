import CBORCoding
import Foundation

/// One object on a line, without anything between the tokens; objects in it there are none.
enum JSONLine {
  typealias Field = ExchangeFormat.Field

  /// The greatest integer up to which all are numbers for every reader of JSON (RFC 8259, section 6).
  private static let greatestSafe: Int128 = 1 << 53 - 1

  /// The object and a line feed.
  static func encode(_ fields: ExchangeFormat.Fields) -> Data {
    var out = Data([UInt8(ascii: "{")])
    for (index, (name, field)) in fields.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      var name = name
      if case .bytes = field { name = ExchangeValue.base64Name }
      append(name, to: &out)
      out.append(UInt8(ascii: ":"))
      append(field, to: &out)
    }
    out.append(contentsOf: Array("}\n".utf8))
    return out
  }

  private static func append(_ field: Field, to out: inout Data) {
    switch field {
    case .text(let text): append(text, to: &out)
    case .bytes(let data):
      out.append(UInt8(ascii: "\""))
      out.append(data.base64EncodedData())
      out.append(UInt8(ascii: "\""))
    case .integer(let integer):
      // Readers that take numbers for doubles would change it.
      let isSafe = -greatestSafe...greatestSafe ~= integer
      out.append(contentsOf: Array((isSafe ? "\(integer)" : "\"\(integer)\"").utf8))
    case .double(let double): out.append(contentsOf: Array("\(double)".utf8))
    case .bool(let bool): out.append(contentsOf: Array((bool ? "true" : "false").utf8))
    case .null: out.append(contentsOf: Array("null".utf8))
    case .list(let list):
      out.append(UInt8(ascii: "["))
      for (index, element) in list.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        // Hashes, whose digits say more than their numbers.
        if case .integer(let hash) = element, let hash = UInt64(exactly: hash) {
          let digits = String(hash, radix: 16)
          append(String(repeating: "0", count: 16 - digits.utf8.count) + digits, to: &out)
        } else {
          append(element, to: &out)
        }
      }
      out.append(UInt8(ascii: "]"))
    }
  }

  private static func append(_ text: String, to out: inout Data) {
    out.append(UInt8(ascii: "\""))
    var part: [UInt8] = []
    part.reserveCapacity(text.utf8.count + 8)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): part += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): part += Array("\\n".utf8)
      case UInt8(ascii: "\r"): part += Array("\\r".utf8)
      case UInt8(ascii: "\t"): part += Array("\\t".utf8)
      // Controls, and DEL, which means something to some terminals.
      case 0..<0x20, 0x7F: part += Array(String(format: "\\u%04x", byte).utf8)
      default: part.append(byte)
      }
    }
    out.append(contentsOf: part)
    out.append(UInt8(ascii: "\""))
  }
}
