/// A document that a scan has found well-formed, with definite lengths. All positions derive from
/// ``CBORPosition/start``.
struct CBORDocument {
  let bytes: CBORBytes

  // The scan has found an item at every position.
  @inline(__always)
  func initialByte(_ position: CBORPosition) -> UInt8 { unsafe bytes.byte(Int(position.offset)) }

  /// Reads a head and moves to the string's bytes, the first nested item, or the next item.
  @inline(__always)
  func readHead(_ position: inout CBORPosition) -> CBORHead {
    let initialByte = initialByte(position)
    if initialByte & 0x1F < 24 {
      position.offset &+= 1
      return CBORHead(initialByte: initialByte, argument: UInt64(initialByte & 0x1F))
    }
    return readLongHead(&position, initialByte)
  }

  private func readLongHead(_ position: inout CBORPosition, _ initialByte: UInt8) -> CBORHead {
    let start = Int(position.offset) + 1
    let argument: UInt64
    switch initialByte & 0x1F {
    case 24:
      argument = UInt64(bytes[start])
      position.offset &+= 2
    case 25:
      argument = UInt64(bytes.load(UInt16.self, at: start))
      position.offset &+= 3
    case 26:
      argument = UInt64(bytes.load(UInt32.self, at: start))
      position.offset &+= 5
    default:
      argument = bytes.load(UInt64.self, at: start)
      position.offset &+= 9
    }
    return CBORHead(initialByte: initialByte, argument: argument)
  }

  @inline(__always)
  func readContent(_ head: CBORHead, _ position: inout CBORPosition) -> CBORBytes {
    let start = Int(position.offset)
    position.offset &+= UInt32(truncatingIfNeeded: head.argument)
    return bytes[start..<Int(position.offset)]
  }

  /// Moves past tags to the head of the tagged item.
  @inline(__always)
  func skipTags(_ position: inout CBORPosition) {
    while initialByte(position) >> 5 == CBORMajorType.tag.rawValue { _ = readHead(&position) }
  }

  /// Moves from an array's or map's head to its contents. Returns the number of elements or pairs.
  @inline(__always)
  func enter(_ position: inout CBORPosition, _ tape: borrowing CBORTape) -> Int {
    let count = tape[Int(position.tape)].count
    _ = readHead(&position)
    position.tape &+= 1
    return Int(count)
  }

  @inline(__always)
  func skip(_ position: inout CBORPosition, _ tape: borrowing CBORTape) {
    while true {
      let entry = position.tape
      let head = readHead(&position)
      switch head.initialByte >> 5 {
      case CBORMajorType.bytes.rawValue, CBORMajorType.text.rawValue:
        position.offset &+= UInt32(truncatingIfNeeded: head.argument)
      case CBORMajorType.array.rawValue, CBORMajorType.map.rawValue:
        position = CBORPosition(offset: tape[Int(entry)].end, tape: tape[Int(entry)].next)
      case CBORMajorType.tag.rawValue: continue
      default: break
      }
      return
    }
  }
}

/// A scan's result for an array or a map.
struct CBORTapeEntry: BitwiseCopyable {
  var end: UInt32
  /// The entry of the next array or map outside this one.
  var next: UInt32
  /// Elements, or pairs of a key and a value.
  var count: UInt32
  /// Whether this is a map with keys in deterministic order and shortest form, so that all are distinct.
  var isSorted: Bool
}

/// A document's arrays and maps in order, to skip each in one step.
typealias CBORTape = CBORStack<CBORTapeEntry>

/// A data item's offset in the input, and the next tape index.
struct CBORPosition: BitwiseCopyable {
  var offset: UInt32
  var tape: UInt32

  static let start = CBORPosition(offset: 0, tape: 0)
  /// The position of a missing value, read as null.
  static let absent = CBORPosition(offset: .max, tape: .max)

  @inline(__always) var isAbsent: Bool { offset == .max }
}

/// Converts indefinite lengths to definite ones, so that all other code handles only those.
///
/// Such documents come from other programs; this package never writes them.
enum CBORDefiniteForm {
  /// Writes the items of `bytes`, whose scan made `tape`, with definite lengths. Throws `.tooLarge` beyond `limit`
  /// bytes.
  static func write(
    _ bytes: CBORBytes, _ tape: borrowing CBORTape, to writer: inout CBORWriter, limit: Int
  ) throws(CBORError) {
    var reader = CBORReader(bytes)
    var entry = 0
    while !reader.isAtEnd {
      let start = reader.offset
      let head = try reader.readHead()
      // The break of an array or map; those of strings are read with them.
      if head.isBreak { continue }
      switch head.major {
      case .array, .map:
        writer.writeHead(head.major, UInt64(tape[entry].count))
        entry += 1
      case .bytes, .text:
        try writeString(head, start, &reader, &writer)
      case .unsigned, .negative, .tag, .simple:
        writer.append(bytes[start..<reader.offset])
      }
      guard writer.count <= limit else { throw CBORError(.tooLarge, at: start) }
    }
  }

  private static func writeString(
    _ head: CBORHead, _ start: Int, _ reader: inout CBORReader, _ writer: inout CBORWriter
  ) throws(CBORError) {
    reader.move(to: start)
    var length = 0
    try reader.readChunks(head.major) { chunk in length += chunk.count }
    writer.writeHead(head.major, UInt64(length))
    reader.move(to: start)
    try reader.readChunks(head.major) { chunk in writer.append(chunk) }
  }
}
