import CBORCoding
package import Foundation
package import FoundationArchives

/// A value as another store had it.
package enum ImportedValue: Sendable {
  case bytes(Data)
  /// Stored so that both `value(_:forKey:)` and `object(forKey:)` read it.
  case plain(PlainValue)
  /// An archive of `NSKeyedArchiver`, which is stored as it is.
  case keyedArchive(Data)
  /// What `customUnarchive` reads.
  case custom(Data)

  /// What it is stored as.
  func archive() throws(CacheError) -> (format: ArchiveFormat, payload: Data) {
    switch self {
    case .bytes(let data): (.bytes, data)
    case .keyedArchive(let data): (.keyedArchive, data)
    case .custom(let data): (.custom, data)
    case .plain(let value): try Self.archive(of: value)
    }
  }

  /// Stores a scalar as such, which is read as an object too. A collection is archived: its elements may be of any types, and
  /// the archive is read as objects and as values.
  private static func archive(of value: PlainValue) throws(CacheError) -> (format: ArchiveFormat, payload: Data) {
    switch value {
    case .bool(let value): try raw(value)
    case .integer(let value): try raw(value)
    case .unsigned(let value): try raw(value)
    case .double(let value): try raw(value)
    case .string(let value): try raw(value)
    case .data(let value): (.bytes, value)
    case .date(let value): try raw(value)
    case .url(let value): try raw(value)
    case .uuid(let value): try raw(value)
    case .null, .array, .dictionary: try collection(value)
    }
  }

  private static func raw(_ value: some RawArchivable) throws(CacheError) -> (format: ArchiveFormat, payload: Data) {
    try value.withRawBytes { (format, bytes) throws(CacheError) in (format, Data(bytes)) }
  }

  private static func collection(_ value: PlainValue) throws(CacheError) -> (format: ArchiveFormat, payload: Data) {
    do {
      #if canImport(Darwin)
        return (.keyedArchive, try KeyedArchive.data(of: value.object))
      #else
        return (.objectGraph, try CBORKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: false))
      #endif
    } catch {
      throw .notArchived("A collection", error)
    }
  }
}
