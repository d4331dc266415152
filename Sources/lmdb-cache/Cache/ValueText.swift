import CBORCoding
import Foundation
import FoundationArchives
import LMDBCaching

/// Values that are stored in binary, as text.
enum ValueText {
  /// `nil` if there is no such entry, or its stored bytes are the best form of it.
  static func text(forKey key: String, in cache: DiskCache) throws -> String? {
    guard let format = try cache.entry(forKey: key)?.format else { return nil }
    return switch format {
    case .bool: try cache.value(Bool.self, forKey: key)?.description
    case .signedInteger: try cache.value(Int64.self, forKey: key)?.description
    case .unsignedInteger: try cache.value(UInt64.self, forKey: key)?.description
    case .double: try cache.value(Double.self, forKey: key)?.description
    case .float: try cache.value(Float.self, forKey: key)?.description
    case .date:
      try cache.value(Date.self, forKey: key)?.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    case .uuid: try cache.value(UUID.self, forKey: key)?.uuidString
    case .url: try cache.value(URL.self, forKey: key)?.absoluteString
    case .int8Array: try list([Int8].self, key, cache)
    case .int16Array: try list([Int16].self, key, cache)
    case .int32Array: try list([Int32].self, key, cache)
    case .int64Array: try list([Int64].self, key, cache)
    case .uint16Array: try list([UInt16].self, key, cache)
    case .uint32Array: try list([UInt32].self, key, cache)
    case .uint64Array: try list([UInt64].self, key, cache)
    case .floatArray: try list([Float].self, key, cache)
    case .doubleArray: try list([Double].self, key, cache)
    case .cbor, .objectGraph: try diagnostic(key, cache)
    case .keyedArchive: try archive(key, cache)
    // An array of bytes is bytes.
    default: nil
    }
  }

  private static func diagnostic(_ key: String, _ cache: DiskCache) throws -> String? {
    try cache.withBytes(forKey: key) { bytes in
      let diagnostic = try CBORDiagnostic(bytes)
      if diagnostic.isCut { noteCut() }
      return diagnostic.text
    }
  }

  /// `nil` for what only claims to be an archive.
  private static func archive(_ key: String, _ cache: DiskCache) throws -> String? {
    try cache.withBytes(forKey: key) { bytes in
      guard let notation = try? KeyedArchiveNotation(bytes.withUnsafeBytes { Data($0) }) else { return nil }
      if notation.isCut { noteCut() }
      return notation.text
    } ?? nil
  }

  private static func noteCut() {
    StandardError.write("lmdb-cache: the value is too long to be shown whole; --raw writes all of it\n")
  }

  private static func list<Element: Codable & Sendable & CustomStringConvertible>(
    _ type: [Element].Type, _ key: String, _ cache: DiskCache
  ) throws -> String? {
    try cache.value(type, forKey: key).map { "[" + $0.map(\.description).joined(separator: ",") + "]" }
  }
}
