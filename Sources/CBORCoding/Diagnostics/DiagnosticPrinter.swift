/// Writes the diagnostic notation of one well-formed item.
struct DiagnosticPrinter {
  private(set) var text = ""
  private(set) var isCut = false

  private let limit: Int
  private var reader: CBORReader
  private var levels: [Level] = []

  /// What is around the next item.
  fileprivate struct Level {
    enum Kind { case array, map, tag, bytes, text }
    let kind: Kind
    /// How many items are still to come; negative: until a break.
    var left: Int
    var count = 0
  }

  init(_ bytes: UnsafeRawBufferPointer, limit: Int) {
    self.limit = limit
    reader = CBORReader(bytes)
  }

  mutating func print() throws(CBORError) {
    repeat {
      guard text.utf8.count <= limit else {
        isCut = true
        return
      }
      if let level = levels.last, try isComplete(level) {
        text += level.closing
        levels.removeLast()
        continue
      }
      printSeparator()
      if !levels.isEmpty {
        levels[levels.count - 1].count += 1
        if levels[levels.count - 1].left > 0 { levels[levels.count - 1].left -= 1 }
      }
      try printItem()
    } while !levels.isEmpty
  }

  private mutating func isComplete(_ level: Level) throws(CBORError) -> Bool {
    level.left < 0 ? try reader.readBreak() : level.left == 0
  }

  private mutating func printSeparator() {
    guard let level = levels.last, level.count > 0 else { return }
    text += level.kind == .map && level.count % 2 == 1 ? ": " : ", "
  }

  // MARK: Items

  private mutating func printItem() throws(CBORError) {
    let start = reader.offset
    let head = try reader.readHead()
    switch head.major {
    case .unsigned: text += String(head.argument)
    case .negative: text += String(-1 - Int128(head.argument))
    case .bytes, .text: try printString(head, start)
    case .array: open(.array, head.isIndefinite ? "[_ " : "[", head.isIndefinite ? -1 : Int(head.argument))
    case .map: open(.map, head.isIndefinite ? "{_ " : "{", head.isIndefinite ? -1 : Int(head.argument) * 2)
    case .tag: try printTag(head.argument, start)
    case .simple: printSimple(head)
    }
  }

  private mutating func open(_ kind: Level.Kind, _ opening: String, _ left: Int) {
    text += opening
    levels.append(Level(kind: kind, left: left))
  }

  private mutating func printTag(_ number: UInt64, _ start: Int) throws(CBORError) {
    if number == CBORTag.unsignedBignum || number == CBORTag.negativeBignum {
      var integers = reader
      integers.move(to: start)
      // One of more than 127 bits is shown as it is stored.
      if case let value? = try? integers.readInteger(Int128.self) {
        reader = integers
        text += String(value)
        return
      }
    }
    open(.tag, "\(number)(", 1)
  }

  private mutating func printSimple(_ head: CBORHead) {
    if let double = head.double {
      text += double.isNaN ? "NaN" : double.isInfinite ? (double < 0 ? "-Infinity" : "Infinity") : "\(double)"
      return
    }
    switch head.argument {
    case 20: text += "false"
    case 21: text += "true"
    case 22: text += "null"
    case 23: text += "undefined"
    default: text += "simple(\(head.argument))"
    }
  }

  private mutating func printString(_ head: CBORHead, _ start: Int) throws(CBORError) {
    let kind: Level.Kind = head.major == .text ? .text : .bytes
    guard !head.isIndefinite else {
      // "(_ )" would not say of which type it is.
      if try reader.readBreak() {
        text += kind == .text ? "\"\"_" : "''_"
      } else {
        open(kind, "(_ ", -1)
      }
      return
    }
    reader.move(to: start)
    guard let bytes = try reader.readDefinite(head.major) else { return }
    if kind == .text { printText(bytes) } else { printBytes(bytes) }
  }

  private mutating func printBytes(_ bytes: UnsafeRawBufferPointer) {
    text += "h'"
    let shown = min(bytes.count, max(0, limit - text.utf8.count) / 2 + 1)
    for byte in bytes[..<shown] { text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    isCut = isCut || shown < bytes.count
    if shown == bytes.count { text += "'" }
  }

  private mutating func printText(_ bytes: UnsafeRawBufferPointer) {
    text += "\""
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      guard text.utf8.count <= limit else {
        isCut = true
        return
      }
      printScalar(scalar)
    }
    text += "\""
  }

  private mutating func printScalar(_ scalar: UnicodeScalar) {
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

extension DiagnosticPrinter.Level {
  fileprivate var closing: String {
    switch kind {
    case .array: "]"
    case .map: "}"
    case .tag, .bytes, .text: ")"
    }
  }
}
