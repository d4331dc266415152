import CBORCoding
import Foundation
import FoundationArchives

/// Turns Swift values into the bytes of a record and back.
enum ValueArchiver {
  /// `body` must not keep the bytes.
  @inline(__always)
  static func withArchive<V: Codable, R>(
    of value: V, _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    if let result = try RawArchiving.withRawBytes(of: value, body) { return result }
    return try withEncoded(value) { (bytes) throws(CacheError) in try body(.cbor, bytes) }
  }

  /// The record's format decides how to read, not the requested type.
  static func value<V: Codable>(
    _ type: V.Type, from bytes: UnsafeRawBufferPointer, format: ArchiveFormat, forKey key: String
  ) throws(CacheError) -> V {
    if format.isRaw {
      var isRawType = false
      do throws(RawArchiving.Failure) {
        return try RawArchiving.value(type, from: bytes, format: format)
      } catch {
        if case .mismatch = error { isRawType = true }
        if isRawType, !format.isNumeric || !RawArchiving.isNumeric(type) { throw .mismatch(type, format, key) }
      }
      // A caller's type over a raw record, such as an optional or a raw-value enumeration, or another numeric type:
      // exact values are converted, as within a value.
      guard let stored = RawArchiving.anyValue(from: bytes, format: format) else { throw .mismatch(type, format, key) }
      return try withEncoded(stored) { (bytes) throws(CacheError) in
        do throws(CacheError) {
          return try decode(type, from: bytes, format, key)
        } catch {
          throw isRawType ? .mismatch(type, format, key, underlying: error) : error
        }
      }
    }
    switch format {
    case .cbor: return try decode(type, from: bytes, format, key)
    case .keyedArchive: return try plainValue(type, from: bytes, key)
    #if !canImport(Darwin)
      case .objectGraph:
        guard let root = CBORKeyedUnarchiver.plainRoot(of: bytes) else { throw .mismatch(type, format, key) }
        return try root.withBytes { (bytes) throws(CacheError) in try decode(type, from: bytes, format, key) }
    #endif
    default: throw .mismatch(type, format, key)
    }
  }

  /// Reads strings, numbers, dates and so on, and collections of them, from `NSKeyedArchiver` as Swift values.
  private static func plainValue<V: Codable>(
    _ type: V.Type, from bytes: UnsafeRawBufferPointer, _ key: String
  ) throws(CacheError) -> V {
    let content: PlainContent?
    do throws(KeyedArchiveError) {
      content = try KeyedArchive.plainContent(of: Data(bytes))
    } catch {
      throw .notUnarchived(type, .keyedArchive, key, error)
    }
    guard let content else { throw .mismatch(type, .keyedArchive, key) }
    return try withEncoded(content.value) { (bytes) throws(CacheError) in
      try decode(type, from: bytes, .keyedArchive, key)
    }
  }

  private static func withEncoded<V: Encodable, R>(
    _ value: V, _ body: (UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    let result: Result<R, CacheError>
    do {
      result = try CBOREncoder().withEncoded(value, body)
    } catch {
      throw .notArchived("A value of type \(V.self)", error)
    }
    return try result.get()
  }

  private static func decode<V: Codable>(
    _ type: V.Type, from bytes: UnsafeRawBufferPointer, _ format: ArchiveFormat, _ key: String
  ) throws(CacheError) -> V {
    do {
      return try CBORDecoder().decode(type, from: bytes)
    } catch {
      throw .notUnarchived(type, format, key, error)
    }
  }
}
