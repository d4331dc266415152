import CBORCoding
import Foundation
import FoundationArchives
import LMDBCaching

/// A value that is stored in binary, as text.
struct ValueText {
  let text: String
  /// Whether there was more of it than the limit.
  let isCut: Bool

  init(_ text: String, isCut: Bool = false) {
    self.text = text
    self.isCut = isCut
  }

  /// `nil` if its stored bytes are the best form of it.
  ///
  /// - Parameter limit: The most bytes of a notation, or some more.
  init?(of record: EntryRecord, in reader: CacheReader, limit: Int = 1 << 20) throws {
    func value<V: Codable>(_ type: V.Type) throws -> V { try reader.value(type, of: record) }
    func list<Element: Codable & CustomStringConvertible>(_ type: [Element].Type) throws -> String {
      "[" + (try value(type)).map(\.description).joined(separator: ",") + "]"
    }
    let text: String
    switch record.format {
    case .bool: text = try value(Bool.self).description
    case .signedInteger: text = try value(Int64.self).description
    case .unsignedInteger: text = try value(UInt64.self).description
    case .double: text = try value(Double.self).description
    case .float: text = try value(Float.self).description
    case .date:
      let date = try value(Date.self)
      // What no calendar has is written as a number: seconds since 2001.
      text = date.iso8601Text(includingFractionalSeconds: true) ?? date.timeIntervalSinceReferenceDate.description
    case .uuid: text = try value(UUID.self).uuidString
    case .url: text = try value(URL.self).absoluteString
    case .int8Array: text = try list([Int8].self)
    case .int16Array: text = try list([Int16].self)
    case .int32Array: text = try list([Int32].self)
    case .int64Array: text = try list([Int64].self)
    case .uint16Array: text = try list([UInt16].self)
    case .uint32Array: text = try list([UInt32].self)
    case .uint64Array: text = try list([UInt64].self)
    case .floatArray: text = try list([Float].self)
    case .doubleArray: text = try list([Double].self)
    case .cbor, .objectGraph:
      self = try Self.diagnostic(reader.archive(of: record), limit: limit)
      return
    case .keyedArchive:
      guard let notation = Self.notation(try reader.archive(of: record), limit: limit) else { return nil }
      self = notation
      return
    // An array of bytes is bytes.
    default: return nil
    }
    self.init(text)
  }

  /// CBOR in its diagnostic notation.
  static func diagnostic(_ archive: Data, limit: Int) throws -> ValueText {
    let diagnostic = try archive.withUnsafeBytes { try CBORDiagnostic($0.bytes, limit: limit) }
    return ValueText(diagnostic.text, isCut: diagnostic.isCut)
  }

  /// An archive of `NSKeyedArchiver`. `nil` for what only claims to be one, whatever is wrong with it.
  static func notation(_ archive: Data, limit: Int) -> ValueText? {
    guard let notation = try? KeyedArchiveNotation(archive, limit: limit) else { return nil }
    return ValueText(notation.text, isCut: notation.isCut)
  }
}
