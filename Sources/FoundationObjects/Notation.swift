/// Human-readable text about untrusted data, up to a limit.
///
/// Escapes strings as JSON does, and all characters that would affect a terminal's display.
package struct Notation {
  package private(set) var text = ""
  package private(set) var isCut = false
  private let limit: Int

  /// - Parameter limit: The most bytes of text, plus some for completing a number or an escape.
  package init(limit: Int) { self.limit = limit }

  package var isFull: Bool { text.utf8.count > limit }

  package mutating func cut() { isCut = true }

  package mutating func append(_ part: String) { text += part }

  package mutating func append(quoted string: some StringProtocol) {
    text += "\""
    for scalar in string.unicodeScalars {
      if isFull { return cut() }
      append(scalar)
    }
    text += "\""
  }

  package mutating func append(hex bytes: [UInt8]) {
    text += "h'"
    let shown = min(bytes.count, max(0, limit - text.utf8.count) / 2 + 1)
    for byte in bytes[..<shown] { text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    if shown < bytes.count { cut() } else { text += "'" }
  }

  package mutating func append(_ double: Double) {
    text += double.isNaN ? "NaN" : double.isInfinite ? (double < 0 ? "-Infinity" : "Infinity") : "\(double)"
  }

  private mutating func append(_ scalar: UnicodeScalar) {
    switch scalar {
    case "\"": text += "\\\""
    case "\\": text += "\\\\"
    case "\n": text += "\\n"
    case "\r": text += "\\r"
    case "\t": text += "\\t"
    default:
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        for unit in UTF16.encode(scalar).map({ Array($0) }) ?? [] {
          let digits = String(unit, radix: 16)
          text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
