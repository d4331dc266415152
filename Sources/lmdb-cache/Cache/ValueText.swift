import CBORCoding
import Foundation
import FoundationArchives
import LMDBCaching

/// Values that are stored in binary, as text.
enum ValueText {
  /// `nil` if its stored bytes are the best form of it.
  static func text(of record: EntryRecord, in reader: CacheReader) throws -> String? {
    func value<V: Codable>(_ type: V.Type) throws -> V { try reader.value(type, of: record) }
    func list<Element: Codable & CustomStringConvertible>(_ type: [Element].Type) throws -> String {
      "[" + (try value(type)).map(\.description).joined(separator: ",") + "]"
    }
    return switch record.format {
    case .bool: try value(Bool.self).description
    case .signedInteger: try value(Int64.self).description
    case .unsignedInteger: try value(UInt64.self).description
    case .double: try value(Double.self).description
    case .float: try value(Float.self).description
    case .date:
      try value(Date.self).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    case .uuid: try value(UUID.self).uuidString
    case .url: try value(URL.self).absoluteString
    case .int8Array: try list([Int8].self)
    case .int16Array: try list([Int16].self)
    case .int32Array: try list([Int32].self)
    case .int64Array: try list([Int64].self)
    case .uint16Array: try list([UInt16].self)
    case .uint32Array: try list([UInt32].self)
    case .uint64Array: try list([UInt64].self)
    case .floatArray: try list([Float].self)
    case .doubleArray: try list([Double].self)
    case .cbor, .objectGraph: try diagnostic(reader.archive(of: record))
    case .keyedArchive: try notation(reader.archive(of: record))
    // An array of bytes is bytes.
    default: nil
    }
  }

  private static func diagnostic(_ archive: Data) throws -> String {
    let diagnostic = try archive.withUnsafeBytes { try CBORDiagnostic($0.bytes) }
    if diagnostic.isCut { noteCut() }
    return diagnostic.text
  }

  /// `nil` for what only claims to be an archive.
  private static func notation(_ archive: Data) throws -> String? {
    guard let notation = try? KeyedArchiveNotation(archive) else { return nil }
    if notation.isCut { noteCut() }
    return notation.text
  }

  private static func noteCut() {
    StandardError.write("lmdb-cache: the value is too long to be shown whole; --raw writes all of it\n")
  }
}
