import CBORCoding
import Foundation

/// Reads an object of JSON (RFC 8259) that has no objects in it, strictly: a name that comes twice is an error, as is
/// text that is no Unicode, and an integer is kept to its last digit.
struct JSONLineParser {
  typealias Field = ExchangeFormat.Field

  private let bytes: [UInt8]
  private var index = 0

  private static let greatestDepth = 4

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func fields(of line: [UInt8]) throws(ExchangeProblem) -> [String: Field] {
    var parser = JSONLineParser(line)
    return try parser.object()
  }

  private mutating func object() throws(ExchangeProblem) -> [String: Field] {
    var fields: [String: Field] = [:]
    skipSpace()
    try expect("{")
    skipSpace()
    if !take("}") {
      repeat {
        skipSpace()
        let name = try string()
        skipSpace()
        try expect(":")
        let field = try field(depth: 0)
        guard fields.updateValue(field, forKey: name) == nil else {
          throw problem("the name “\(Formatting.key(name))” comes twice")
        }
        skipSpace()
      } while take(",")
      try expect("}")
    }
    skipSpace()
    guard index == bytes.count else { throw problem("something follows the object") }
    return fields
  }

  private mutating func field(depth: Int) throws(ExchangeProblem) -> Field {
    skipSpace()
    switch peek {
    case UInt8(ascii: "\""): return .text(try string())
    case UInt8(ascii: "t"):
      try expect("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try expect("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try expect("null")
      return .null
    case UInt8(ascii: "["):
      guard depth < Self.greatestDepth else { throw problem("lists nest too deep") }
      return try list(depth: depth)
    case UInt8(ascii: "-")?: return try number()
    case let byte? where UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte: return try number()
    case nil: throw problem("it ends here, within an object")
    default: throw problem("a value was expected")
    }
  }

  private mutating func list(depth: Int) throws(ExchangeProblem) -> Field {
    try expect("[")
    skipSpace()
    if take("]") { return .list([]) }
    var list: [Field] = []
    repeat {
      list.append(try field(depth: depth + 1))
      skipSpace()
    } while take(",")
    try expect("]")
    return .list(list)
  }

  // MARK: Numbers

  private mutating func number() throws(ExchangeProblem) -> Field {
    let start = index
    _ = take("-")
    let first = index
    skipDigits()
    guard index > first, bytes[first] != UInt8(ascii: "0") || index == first + 1 else { throw problem("no number") }
    var isIntegral = true
    if take(".") {
      isIntegral = false
      try requireDigits()
    }
    if take("e") || take("E") {
      isIntegral = false
      if !take("+") { _ = take("-") }
      try requireDigits()
    }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    // An integer has no -0, and a double does.
    if isIntegral, text != "-0" {
      guard let integer = Int128(text) else { throw problem("the number has too many digits") }
      return .integer(integer)
    }
    guard let double = Double(text), double.isFinite else { throw problem("the number is too large") }
    return .double(double)
  }

  private mutating func requireDigits() throws(ExchangeProblem) {
    let start = index
    skipDigits()
    if index == start { throw problem("a digit was expected") }
  }

  private mutating func skipDigits() {
    while let byte = peek, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { index += 1 }
  }

  // MARK: Text

  private mutating func string() throws(ExchangeProblem) -> String {
    try expect("\"")
    var text: [UInt8] = []
    let start = index
    while true {
      // As much as there is without an escape.
      let rest = bytes[index...]
      guard let end = rest.firstIndex(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") })
      else {
        index = bytes.count
        throw problem("it ends here, within a text")
      }
      text += bytes[index..<end]
      index = end + 1
      switch bytes[end] {
      case UInt8(ascii: "\""):
        guard let valid = String(validating: text, as: UTF8.self) else {
          index = start
          throw problem("a text is not UTF-8")
        }
        return valid
      case UInt8(ascii: "\\"): try appendEscaped(to: &text)
      default:
        index = end
        throw problem("a control character is not escaped")
      }
    }
  }

  private mutating func appendEscaped(to text: inout [UInt8]) throws(ExchangeProblem) {
    guard let byte = peek else { throw problem("it ends here, within a text") }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(8)
    case UInt8(ascii: "f"): text.append(12)
    case UInt8(ascii: "n"): text.append(10)
    case UInt8(ascii: "r"): text.append(13)
    case UInt8(ascii: "t"): text.append(9)
    case UInt8(ascii: "u"): text += Array(String(try escapedScalar()).utf8)
    default: throw problem("there is no such escape")
    }
  }

  private mutating func escapedScalar() throws(ExchangeProblem) -> Unicode.Scalar {
    let first = UInt32(try codeUnit())
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, take("\\"), take("u") else { throw problem("half a surrogate pair is no character") }
    let second = UInt32(try codeUnit())
    guard 0xDC00..<0xE000 ~= second,
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw problem("half a surrogate pair is no character") }
    return scalar
  }

  private mutating func codeUnit() throws(ExchangeProblem) -> UInt16 {
    guard bytes.count - index >= 4, bytes[index] != UInt8(ascii: "+"),
      let unit = UInt16(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16)
    else { throw problem("four hexadecimal digits were expected") }
    index += 4
    return unit
  }

  // MARK: Bytes

  private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = peek, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
  }

  private mutating func take(_ token: StaticString) -> Bool {
    guard bytes.count - index >= token.utf8CodeUnitCount else { return false }
    let isThere = bytes[index..<index + token.utf8CodeUnitCount].elementsEqual("\(token)".utf8)
    if isThere { index += token.utf8CodeUnitCount }
    return isThere
  }

  private mutating func expect(_ token: StaticString) throws(ExchangeProblem) {
    if !take(token) {
      throw problem(index == bytes.count ? "it ends here, within an object" : "“\(token)” was expected")
    }
  }

  private func problem(_ text: String) -> ExchangeProblem { ExchangeProblem("column \(index + 1): \(text)") }
}
