import CBORCoding
package import Foundation
package import FoundationArchives

package enum ImportedValue: Sendable {
  case bytes(Data)
  /// Readable with both `value(_:forKey:)` and `object(forKey:)`.
  case plain(PlainValue)
  /// An archive of `NSKeyedArchiver`, stored as it is.
  case keyedArchive(Data)
  /// The input of `customUnarchive`.
  case custom(Data)

  func archive() throws(CacheError) -> (format: ArchiveFormat, payload: Data) {
    switch self {
    case .bytes(let data): (.bytes, data)
    case .keyedArchive(let data): (.keyedArchive, data)
    case .custom(let data): (.custom, data)
    case .plain(let value): try Self.archive(of: value)
    }
  }

  /// Scalars are stored as they are and can be read as objects too. Collections are archived, since elements may have
  /// any types.
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
