@testable import CBORCoding

/// A data item as a tree: a complete reader and writer on the item layer alone.
indirect enum CBORItem: Equatable {
  case integer(Int128)
  case double(Double)
  case bytes([UInt8])
  case text(String)
  case array([CBORItem])
  case map([(key: CBORItem, value: CBORItem)])
  case tag(UInt64, CBORItem)
  case bool(Bool)
  case null
  case undefined
  case simple(UInt8)

  static func == (first: Self, second: Self) -> Bool { first.encoded == second.encoded }

  init(_ bytes: [UInt8]) throws(CBORError) {
    self = try bytes.withBytes { (bytes) throws(CBORError) -> CBORItem in
      var reader = CBORReader(bytes, maximumDepth: 64)
      try reader.skip()
      try reader.finish()
      reader.move(to: 0)
      return try CBORItem.read(from: &reader)
    }
  }

  static func read(from reader: inout CBORReader) throws(CBORError) -> CBORItem {
    let head = try reader.peekHead()
    switch head.major {
    case .unsigned, .negative: return .integer(try reader.readInteger())
    case .bytes: return .bytes(try reader.readByteString())
    case .text: return .text(try reader.readText())
    case .array:
      let count = try reader.readArrayHead()
      return .array(try readItems(count, from: &reader))
    case .map:
      let count = try reader.readMapHead()
      let items = try readItems(count.map { $0 * 2 }, from: &reader)
      return .map(stride(from: 0, to: items.count, by: 2).map { (items[$0], items[$0 + 1]) })
    case .tag: return try readTagged(from: &reader)
    case .simple: break
    }
    if head.isFloat { return .double(try reader.readDouble()) }
    if head.initialByte & 0xFE == 0xF4 { return .bool(try reader.readBool()) }
    _ = try reader.readHead()
    if head.isNil { return head.argument == 22 ? .null : .undefined }
    return .simple(UInt8(head.argument))
  }

  /// Reads `count` items, or those before the break.
  private static func readItems(_ count: Int?, from reader: inout CBORReader) throws(CBORError) -> [CBORItem] {
    var items: [CBORItem] = []
    if let count {
      for _ in 0..<count { items.append(try read(from: &reader)) }
    } else {
      while try !reader.readBreak() { items.append(try read(from: &reader)) }
    }
    return items
  }

  private static func readTagged(from reader: inout CBORReader) throws(CBORError) -> CBORItem {
    let start = reader.offset
    let number = try reader.readTag()!
    if number == CBORTag.unsignedBignum || number == CBORTag.negativeBignum {
      let afterTag = reader.offset
      reader.move(to: start)
      do throws(CBORError) {
        return .integer(try reader.readInteger())
      } catch  where error.code == .outOfRange || error.code == .unexpectedItem {
        reader.move(to: afterTag)
      }
    }
    return .tag(number, try read(from: &reader))
  }

  func write(to writer: inout CBORWriter) {
    switch self {
    case .integer(let value): writer.writeInteger(value)
    case .double(let value): writer.writeDouble(value)
    case .bytes(let bytes): bytes.withBytes { writer.writeBytes($0) }
    case .text(let text): writer.writeText(text)
    case .array(let items):
      writer.writeArrayHead(count: items.count)
      for item in items { item.write(to: &writer) }
    case .map(let entries):
      writer.writeMapHead(count: entries.count)
      let encoded = entries.map { (key: $0.key.encoded, value: $0.value.encoded) }
      for entry in encoded.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        entry.key.withBytes { writer.append($0) }
        entry.value.withBytes { writer.append($0) }
      }
    case .tag(let number, let item):
      writer.writeTag(number)
      item.write(to: &writer)
    case .bool(let value): writer.writeBool(value)
    case .null: writer.writeNull()
    case .undefined: writer.writeUndefined()
    case .simple(let value): writer.writeHead(.simple, UInt64(value))
    }
  }

  var encoded: [UInt8] {
    var writer = CBORWriter(capacity: 0)
    write(to: &writer)
    return writer.withBytes { $0.array }
  }

  /// The item with indefinite lengths, strings in two chunks, and maps in the opposite order.
  var indefinite: [UInt8] {
    switch self {
    case .bytes(let bytes):
      let halves = [bytes.prefix(bytes.count / 2), bytes.dropFirst(bytes.count / 2)]
      return [0x5F] + halves.flatMap { CBORItem.bytes(Array($0)).encoded } + [0xFF]
    case .text(let text):
      let scalars = text.unicodeScalars
      let middle = scalars.index(scalars.startIndex, offsetBy: scalars.count / 2)
      let halves = [String(text[..<middle]), String(text[middle...])]
      return [0x7F] + halves.flatMap { CBORItem.text($0).encoded } + [0xFF]
    case .array(let items): return [0x9F] + items.flatMap(\.indefinite) + [0xFF]
    case .map(let entries):
      return [0xBF] + entries.reversed().flatMap { $0.key.indefinite + $0.value.indefinite } + [0xFF]
    case .tag(let number, let item):
      var writer = CBORWriter()
      writer.writeTag(number)
      return writer.withBytes { $0.array } + item.indefinite
    default: return encoded
    }
  }
}
