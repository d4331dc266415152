/// Reads untrusted JSON (RFC 8259) strictly. An error says where, a key that comes twice is one, and nesting is
/// limited.
package struct JSONParser {
  /// Where the text stops being JSON.
  package struct Failure: Error, Equatable, CustomStringConvertible {
    package var offset: Int
    package var reason: String
    package var description: String { "\(reason) at byte \(offset)" }
  }

  private let bytes: [UInt8]
  private var position = 0
  private var depth = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  package static func value(of bytes: [UInt8]) throws(Failure) -> JSONValue {
    var parser = JSONParser(bytes)
    parser.skipSpace()
    let value = try parser.value()
    parser.skipSpace()
    guard parser.position == bytes.count else { throw parser.failure("there is more than one value") }
    return value
  }

  private func failure(_ reason: String) -> Failure {
    Failure(offset: position, reason: position == bytes.count ? "the text ends too soon" : reason)
  }

  private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
  }

  private mutating func value() throws(Failure) -> JSONValue {
    switch current {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"): return try number()
    case let byte? where 48...57 ~= byte: return try number()
    default: throw failure("there is no value")
    }
  }

  private mutating func pass(_ byte: Unicode.Scalar) -> Bool {
    guard current == UInt8(ascii: byte) else { return false }
    position += 1
    return true
  }

  private mutating func word(_ word: String, _ value: JSONValue) throws(Failure) -> JSONValue {
    guard bytes[position...].starts(with: word.utf8) else { throw failure("there is no value") }
    position += word.utf8.count
    return value
  }

  private mutating func enter() throws(Failure) {
    depth += 1
    guard depth <= JSONValue.deepest else { throw failure("it is nested more than \(JSONValue.deepest) levels") }
    position += 1
    skipSpace()
  }

  private mutating func array() throws(Failure) -> JSONValue {
    try enter()
    defer { depth -= 1 }
    var elements: [JSONValue] = []
    if pass("]") { return .array(elements) }
    repeat { elements.append(try value()) } while try !isLast("]")
    return .array(elements)
  }

  private mutating func object() throws(Failure) -> JSONValue {
    try enter()
    defer { depth -= 1 }
    var members: [String: JSONValue] = [:]
    if pass("}") { return .object(members) }
    repeat {
      guard current == UInt8(ascii: "\"") else { throw failure("there is no key") }
      let key = try string()
      skipSpace()
      guard pass(":") else { throw failure("there is no colon") }
      skipSpace()
      guard members.updateValue(try value(), forKey: key) == nil else { throw failure("a key comes twice") }
    } while try !isLast("}")
    return .object(members)
  }

  /// Passes a comma, or the end of an array or object.
  private mutating func isLast(_ end: Unicode.Scalar) throws(Failure) -> Bool {
    skipSpace()
    let isLast = pass(end)
    guard isLast || pass(",") else { throw failure("there is neither a comma nor an end") }
    skipSpace()
    return isLast
  }

  private mutating func number() throws(Failure) -> JSONValue {
    let start = position
    func digits(_ parser: inout JSONParser) throws(Failure) {
      let first = parser.position
      while let byte = parser.current, byte >= 48, byte <= 57 { parser.position += 1 }
      guard parser.position > first else { throw parser.failure("a number has no digits") }
    }
    _ = pass("-")
    if !pass("0") { try digits(&self) }
    if pass(".") { try digits(&self) }
    if pass("e") || pass("E") {
      _ = pass("+") || pass("-")
      try digits(&self)
    }
    return .number(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  // MARK: - Strings

  private mutating func string() throws(Failure) -> String {
    position += 1
    var start = position
    var text: [UInt8] = []
    while let byte = current {
      switch byte {
      case UInt8(ascii: "\""):
        text.append(contentsOf: bytes[start..<position])
        guard let string = String(validating: text, as: UTF8.self) else { throw failure("a string is not UTF-8") }
        position += 1
        return string
      case UInt8(ascii: "\\"):
        text.append(contentsOf: bytes[start..<position])
        position += 1
        text.append(contentsOf: try escaped())
        start = position
      case 0..<0x20: throw failure("a string has a control character")
      default: position += 1
      }
    }
    throw failure("the text ends too soon")
  }

  private mutating func escaped() throws(Failure) -> [UInt8] {
    guard let byte = current else { throw failure("the text ends too soon") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0c]
    case UInt8(ascii: "n"): return [0x0a]
    case UInt8(ascii: "r"): return [0x0d]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"):
      var unit = try hexadecimal()
      if 0xd800..<0xdc00 ~= unit, bytes[position...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) {
        position += 2
        let low = try hexadecimal()
        guard 0xdc00..<0xe000 ~= low else { throw failure("half a surrogate pair is no character") }
        unit = 0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00)
      }
      guard let scalar = UnicodeScalar(unit) else { throw failure("half a surrogate pair is no character") }
      return Array(String(Character(scalar)).utf8)
    default: throw failure("an escape is unknown")
    }
  }

  private mutating func hexadecimal() throws(Failure) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Character(UnicodeScalar(byte)).hexDigitValue, byte < 0x80 else {
        throw failure("an escape is unknown")
      }
      unit = unit << 4 | UInt32(digit)
      position += 1
    }
    return unit
  }
}
