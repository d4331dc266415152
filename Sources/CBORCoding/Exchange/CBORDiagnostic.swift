import FoundationObjects

/// CBOR as human-readable text: the diagnostic notation of RFC 8949 §8, on one line. Escapes text as JSON does, and all
/// characters that would affect a terminal's display.
public struct CBORDiagnostic: Hashable, Sendable {
  /// The notation, up to the limit.
  public let text: String
  /// Whether the limit was reached. The text then ends with "…".
  public let isCut: Bool

  /// Throws ``CBORCodingError`` unless `bytes` are one well-formed item. `limit`: the most bytes of text, about.
  public init(_ bytes: RawSpan, limit: Int = 1 << 20) throws(CBORCodingError) {
    self = try bytes.withBytes { bytes throws(CBORCodingError) in
      do throws(CBORError) { return try CBORDiagnostic(bytes, limit: limit) } catch { throw CBORCodingError(error) }
    }
  }

  init(_ bytes: CBORBytes, limit: Int) throws(CBORError) {
    // Print nothing unless the whole input is well-formed.
    var check = CBORReader(bytes)
    try check.skip()
    try check.finish()
    var printer = DiagnosticPrinter(bytes, limit: limit)
    try printer.print()
    let out = printer.out
    text = out.isCut ? out.text + "…" : out.text
    isCut = out.isCut
  }
}

struct DiagnosticPrinter {
  private(set) var out: Notation
  private var reader: CBORReader
  private var levels: [Level] = []

  fileprivate struct Level {
    enum Kind { case array, map, tag, bytes, text }
    let kind: Kind
    /// Items still expected; negative until a break.
    var left: Int
    var count = 0
  }

  init(_ bytes: CBORBytes, limit: Int) {
    out = Notation(limit: limit)
    reader = CBORReader(bytes)
  }

  mutating func print() throws(CBORError) {
    repeat {
      if out.isFull { return out.cut() }
      if let level = levels.last, try isComplete(level) {
        out.append(level.closing)
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
    out.append(level.kind == .map && level.count % 2 == 1 ? ": " : ", ")
  }

  // MARK: Items

  private mutating func printItem() throws(CBORError) {
    let start = reader.offset
    let head = try reader.readHead()
    switch head.major {
    case .unsigned: out.append(String(head.argument))
    case .negative: out.append(String(-1 - Int128(head.argument)))
    case .bytes, .text: try printString(head, start)
    case .array: open(.array, head.isIndefinite ? "[_ " : "[", head.isIndefinite ? -1 : Int(head.argument))
    case .map: open(.map, head.isIndefinite ? "{_ " : "{", head.isIndefinite ? -1 : Int(head.argument) * 2)
    case .tag: try printTag(head.argument, start)
    case .simple: printSimple(head)
    }
  }

  private mutating func open(_ kind: Level.Kind, _ opening: String, _ left: Int) {
    out.append(opening)
    levels.append(Level(kind: kind, left: left))
  }

  private mutating func printTag(_ number: UInt64, _ start: Int) throws(CBORError) {
    if number == CBORTag.unsignedBignum || number == CBORTag.negativeBignum {
      var integers = reader
      integers.move(to: start)
      // Larger bignums are printed as stored.
      if case let value? = try? integers.readInteger(Int128.self) {
        reader = integers
        out.append(String(value))
        return
      }
    }
    open(.tag, "\(number)(", 1)
  }

  private mutating func printSimple(_ head: CBORHead) {
    if let double = head.double {
      return out.append(double)
    }
    switch head.argument {
    case 20: out.append("false")
    case 21: out.append("true")
    case 22: out.append("null")
    case 23: out.append("undefined")
    default: out.append("simple(\(head.argument))")
    }
  }

  private mutating func printString(_ head: CBORHead, _ start: Int) throws(CBORError) {
    let kind: Level.Kind = head.major == .text ? .text : .bytes
    guard !head.isIndefinite else {
      // "(_ )" would not show the type.
      if try reader.readBreak() {
        out.append(kind == .text ? "\"\"_" : "''_")
      } else {
        open(kind, "(_ ", -1)
      }
      return
    }
    reader.move(to: start)
    guard let bytes = try reader.readDefinite(head.major) else { return }
    if kind == .text { out.append(quoted: String(utf8: bytes)) } else { out.append(hex: bytes.array) }
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
