/// Puts each element of JSON, CBOR notation or archive notation on a separate line. The elements' text is unchanged:
/// numbers keep their digits.
struct IndentedNotation {
  private(set) var text = ""
  private(set) var isCut = false
  /// Deeper levels are not indented further.
  private static let greatestIndentation = 40

  /// - Parameter limit: The most bytes of text, plus some for completing an element.
  init(_ source: String, limit: Int) {
    var depth = 0
    var quote: UInt8?
    var isEscaped = false
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(limit, 2 * source.utf8.count))
    func newLine() {
      bytes.append(UInt8(ascii: "\n"))
      bytes.append(
        contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * max(0, min(depth, Self.greatestIndentation))))
    }
    /// Replace spaces between elements.
    var isAfterBreak = false
    var isOpened = false
    for byte in source.utf8 {
      if let current = quote {
        bytes.append(byte)
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == current {
          quote = nil
        }
      } else {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
          if !isAfterBreak, !isOpened, bytes.last != UInt8(ascii: " ") { bytes.append(UInt8(ascii: " ")) }
          continue
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          depth -= 1
          // Empty ones stay on their line.
          if !isOpened { newLine() }
          bytes.append(byte)
        default:
          if isOpened {
            newLine()
          }
          if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { quote = byte }
          bytes.append(byte)
          if byte == UInt8(ascii: ":") { bytes.append(UInt8(ascii: " ")) }
          if byte == UInt8(ascii: ",") { newLine() }
        }
        isOpened = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
        isAfterBreak = isOpened || byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":")
        if isOpened { depth += 1 }
      }
      if bytes.count > limit {
        isCut = true
        break
      }
    }
    // Drops a character that was cut in the middle.
    text = isCut ? VisibleText.whole(bytes) + "…" : String(decoding: bytes, as: UTF8.self)
  }
}
