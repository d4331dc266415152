import Foundation

/// Reads untrusted binary property lists: every offset, length and reference is checked.
///
/// Each object is read once and no reference is followed, so depth and cycles do not matter. All parts together must
/// not exceed the list's length, which bounds time and memory: no writer overlaps objects.
struct BinaryPropertyList {
  private static let trailerSize = 32

  private let bytes: [UInt8]
  private let referenceSize: Int
  private let count: Int
  private let end: Int
  private var used = 0

  static func parse(_ bytes: [UInt8]) throws(KeyedArchiveError) -> PropertyListNodes {
    guard bytes.count >= 8 + trailerSize, bytes[6] == UInt8(ascii: "0") else { throw damaged("its header or its end") }
    let trailer = bytes.count - trailerSize
    let offsetSize = Int(bytes[trailer + 6])
    let referenceSize = Int(bytes[trailer + 7])
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
      let count = integer(bytes, at: trailer + 8, size: 8), let top = integer(bytes, at: trailer + 16, size: 8),
      let table = integer(bytes, at: trailer + 24, size: 8), table >= 8, table <= trailer, top < count,
      count <= Int(Int32.max), count <= (trailer - table) / offsetSize
    else { throw damaged("its table of objects") }
    var list = BinaryPropertyList(bytes: bytes, referenceSize: referenceSize, count: count, end: table)
    var result = PropertyListNodes()
    result.top = top
    result.nodes.reserveCapacity(count)
    for index in 0..<count {
      guard let offset = integer(bytes, at: table + index * offsetSize, size: offsetSize) else {
        throw damaged("its table of objects")
      }
      result.nodes.append(try list.node(at: offset))
    }
    return result
  }

  private init(bytes: [UInt8], referenceSize: Int, count: Int, end: Int) {
    self.bytes = bytes
    self.referenceSize = referenceSize
    self.count = count
    self.end = end
  }

  private static func damaged(_ what: String) -> KeyedArchiveError {
    KeyedArchiveError("The binary property list is damaged: \(what).")
  }

  /// Reads a big-endian integer. Returns `nil` if it is out of bounds or exceeds `Int`.
  private static func integer(_ bytes: [UInt8], at offset: Int, size: Int) -> Int? {
    guard offset >= 0, size <= bytes.count, offset <= bytes.count - size else { return nil }
    return Int(exactly: unsigned(bytes[offset..<offset + size]))
  }

  private static func unsigned(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

  private mutating func take(_ count: Int, at offset: Int) throws(KeyedArchiveError) -> ArraySlice<UInt8> {
    guard offset >= 8, offset <= end, count >= 0, count <= end - offset else {
      throw Self.damaged("an object is longer than the list")
    }
    used += count
    guard used <= bytes.count else { throw Self.damaged("its objects lie over each other") }
    return bytes[offset..<offset + count]
  }

  private mutating func node(at offset: Int) throws(KeyedArchiveError) -> PropertyListNode {
    let marker = try take(1, at: offset).first!
    let low = Int(marker & 0x0F)
    switch marker >> 4 {
    case 0x0:
      switch marker {
      case 0x08: return .boolean(false)
      case 0x09: return .boolean(true)
      default: break
      }
    case 0x1: return try integerNode(low, at: offset + 1)
    case 0x2:
      switch low {
      case 2:
        return .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: Self.unsigned(try take(4, at: offset + 1))))))
      case 3: return .real(Double(bitPattern: Self.unsigned(try take(8, at: offset + 1))))
      default: break
      }
    case 0x3 where low == 3:
      return .date(Double(bitPattern: Self.unsigned(try take(8, at: offset + 1))))
    case 0x4:
      let (count, start) = try length(low, at: offset + 1)
      return .data(Data(try take(count, at: start)))
    case 0x5:
      let (count, start) = try length(low, at: offset + 1)
      let text = try take(count, at: start)
      guard text.allSatisfy({ $0 < 0x80 }) else { throw Self.damaged("text that is not ASCII") }
      return .string(String(decoding: text, as: UTF8.self))
    case 0x6:
      let (count, start) = try length(low, at: offset + 1)
      guard count <= bytes.count / 2 else { throw Self.damaged("an object is longer than the list") }
      return .string(Self.text(try take(2 * count, at: start)))
    case 0x8:
      guard let number = Int(exactly: Self.unsigned(try take(low + 1, at: offset + 1))), low < 8 else {
        throw Self.damaged("a reference that cannot be")
      }
      return .uid(number)
    case 0xA:
      let (count, start) = try length(low, at: offset + 1)
      return .array(try references(count, at: start))
    case 0xD:
      let (count, start) = try length(low, at: offset + 1)
      let keys = try references(count, at: start)
      return .dictionary(keys: keys, values: try references(count, at: start + count * referenceSize))
    default: break
    }
    throw Self.damaged("an object of a kind that keyed archives do not have")
  }

  private mutating func integerNode(_ power: Int, at offset: Int) throws(KeyedArchiveError) -> PropertyListNode {
    guard power <= 4 else { throw Self.damaged("an integer that is too long") }
    var digits = try take(1 << power, at: offset)
    // Shorter integers are unsigned; those of sixteen bytes hold values that exceed eight.
    if power == 4 {
      guard digits.prefix(8).allSatisfy({ $0 == 0 }) else { throw Self.damaged("an integer that is too long") }
      digits = digits.suffix(8)
      let value = Self.unsigned(digits)
      return Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
    }
    return .integer(Int64(bitPattern: Self.unsigned(digits)))
  }

  /// Reads a count from the marker or after it. Also returns the start of the contents.
  private mutating func length(_ low: Int, at offset: Int) throws(KeyedArchiveError) -> (count: Int, start: Int) {
    if low < 15 { return (low, offset) }
    let marker = try take(1, at: offset).first!
    guard marker >> 4 == 1, marker & 0x0F <= 3, case let size = 1 << Int(marker & 0x0F),
      let count = Int(exactly: Self.unsigned(try take(size, at: offset + 1)))
    else { throw Self.damaged("a length that cannot be") }
    return (count, offset + 1 + size)
  }

  private mutating func references(_ number: Int, at offset: Int) throws(KeyedArchiveError) -> [Int32] {
    guard number <= bytes.count / referenceSize else { throw Self.damaged("an object is longer than the list") }
    let part = try take(number * referenceSize, at: offset)
    var references: [Int32] = []
    references.reserveCapacity(number)
    for start in stride(from: part.startIndex, to: part.endIndex, by: referenceSize) {
      let reference = Self.unsigned(part[start..<start + referenceSize])
      guard reference < UInt64(count) else { throw Self.damaged("a reference to an object that is not there") }
      references.append(Int32(truncatingIfNeeded: reference))
    }
    return references
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    var units: [UInt16] = []
    units.reserveCapacity(bytes.count / 2)
    for index in stride(from: bytes.startIndex, to: bytes.endIndex, by: 2) {
      units.append(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]))
    }
    return String(decoding: units, as: UTF16.self)
  }
}
