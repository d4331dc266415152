package import Foundation

/// CBOR sequences (RFC 8742) of maps with text keys, written in deterministic form and read in any.
package enum CBORSequence {
  package enum Extent: Hashable, Sendable {
    case whole(Int)
    /// Incomplete: the item needs at least this many bytes in total, more than there are.
    case cutOff(atLeast: Int)
  }

  /// The nesting limit when reading.
  private static let maximumDepth = 16

  /// - Parameter bytes: An item or its beginning, and anything after it.
  /// - Throws: `.malformed` if no further bytes could complete an item.
  package static func firstExtent(of bytes: RawSpan) throws(CBORCodingError) -> Extent {
    try bytes.withBytes { bytes throws(CBORCodingError) in
      var reader = CBORReader(bytes, maximumDepth: maximumDepth)
      do throws(CBORError) {
        try reader.skip()
        return .whole(reader.offset)
      } catch {
        switch error.code {
        case .endOfInput: return .cutOff(atLeast: bytes.count + 1)
        // A map has more bytes than pairs.
        case .lengthOverInput: return .cutOff(atLeast: max(bytes.count + 1, end(ofItemAt: error.offset, in: bytes)))
        default: throw CBORCodingError(error)
        }
      }
    }
  }

  /// The earliest possible end of a string or container.
  private static func end(ofItemAt offset: Int, in bytes: CBORBytes) -> Int {
    var reader = CBORReader(bytes, at: offset)
    do throws(CBORError) {
      let head = try reader.readHead()
      let (end, overflow) = UInt64(reader.offset).addingReportingOverflow(head.argument)
      return overflow ? .max : Int(clamping: end)
    } catch {
      // It was read before, and more bytes are needed anyway.
      return bytes.count + 1
    }
  }

  /// Decodes bytes that are exactly one map.
  ///
  /// - Throws: `.malformed` for anything else, including duplicate keys and values that ``CBORField`` does not have.
  package static func map(of bytes: RawSpan) throws(CBORCodingError) -> [String: CBORField] {
    try bytes.withBytes { bytes throws(CBORCodingError) in
      do throws(CBORError) {
        var reader = CBORReader(bytes)
        var map: [String: CBORField] = [:]
        var left = try reader.readMapHead()
        while try hasMore(left, &reader) {
          let start = reader.offset
          let key = try reader.readText()
          guard map.updateValue(try field(&reader, depth: 0), forKey: key) == nil else {
            throw CBORError(.duplicateKey, at: start)
          }
          left = left.map { $0 - 1 }
        }
        try reader.finish()
        return map
      } catch {
        throw CBORCodingError(error)
      }
    }
  }

  /// - Parameter left: Items left; `nil` until a break.
  private static func hasMore(_ left: Int?, _ reader: inout CBORReader) throws(CBORError) -> Bool {
    guard let left else { return try !reader.readBreak() }
    return left > 0
  }

  private static func field(_ reader: inout CBORReader, depth: Int) throws(CBORError) -> CBORField {
    let head = try reader.peekHead()
    switch head.major {
    case .unsigned, .negative, .tag: return .integer(try reader.readInteger())
    case .bytes: return .bytes(Data(try reader.readByteString()))
    case .text: return .text(try reader.readText())
    case .array:
      guard depth < maximumDepth else { throw CBORError(.tooDeep, at: reader.offset) }
      var list: [CBORField] = []
      var left = try reader.readArrayHead()
      while try hasMore(left, &reader) {
        list.append(try field(&reader, depth: depth + 1))
        left = left.map { $0 - 1 }
      }
      return .list(list)
    case .simple:
      if try reader.readNil() { return .null }
      return head.double == nil ? .bool(try reader.readBool()) : .double(try reader.readDouble())
    case .map: throw CBORError(.unexpectedItem, at: reader.offset)
    }
  }

  package static func encode(_ map: [(key: String, value: CBORField)]) -> Data {
    var writer = CBORWriter()
    writer.writeMapHead(count: map.count)
    // The order of encoded keys: shorter ones have smaller heads.
    let sorted = map.sorted {
      let (first, second) = ($0.key.utf8, $1.key.utf8)
      return first.count == second.count ? first.lexicographicallyPrecedes(second) : first.count < second.count
    }
    for (key, value) in sorted {
      writer.writeText(key)
      write(value, &writer)
    }
    return writer.data
  }

  private static func write(_ field: CBORField, _ writer: inout CBORWriter) {
    switch field {
    case .text(let text): writer.writeText(text)
    case .bytes(let data): writer.writeBytes(data)
    case .integer(let integer): writer.writeInteger(integer)
    case .double(let double): writer.writeDouble(double)
    case .bool(let bool): writer.writeBool(bool)
    case .null: writer.writeNull()
    case .list(let list):
      writer.writeArrayHead(count: list.count)
      for element in list { write(element, &writer) }
    }
  }
}

/// A value in a map of a CBOR sequence: a JSON value or bytes.
package enum CBORField: Hashable, Sendable {
  case text(String)
  case bytes(Data)
  case integer(Int128)
  case double(Double)
  case bool(Bool)
  case null
  case list([CBORField])

  /// The value's type, for messages.
  package var kind: String {
    switch self {
    case .text: "text"
    case .bytes: "bytes"
    case .integer: "an integer"
    case .double: "a number"
    case .bool: "true or false"
    case .null: "null"
    case .list: "a list"
    }
  }
}
