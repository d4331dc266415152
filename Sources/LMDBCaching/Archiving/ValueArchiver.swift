import Foundation
import FoundationArchives

/// Turns Swift values into the bytes of a record and back.
enum ValueArchiver {
  /// Archives `value` and calls `body` with the bytes, which are valid in it only.
  @inline(__always)
  static func withArchive<V: Codable, R>(
    of value: V, _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    if let result = try RawArchiving.withRawBytes(of: value, body) { return result }
    return try withEncoded(value) { (bytes) throws(CacheError) in try body(.cbor, bytes) }
  }

  /// Reads a value back. The record's format decides how, not the type that is asked for.
  static func value<V: Codable>(
    _ type: V.Type, from bytes: UnsafeRawBufferPointer, format: ArchiveFormat, forKey key: String
  ) throws(CacheError) -> V {
    if format.rawValue < ArchiveFormat.json.rawValue {
      do throws(RawArchiving.Failure) {
        return try RawArchiving.value(type, from: bytes, format: format)
      } catch {
        if case .mismatch = error { throw mismatch(type, format, key) }
      }
      // A type of the caller's, such as an optional or an enumeration with a raw value, over a raw record.
      guard let stored = RawArchiving.anyValue(from: bytes, format: format) else { throw mismatch(type, format, key) }
      return try withEncoded(stored) { (bytes) throws(CacheError) in try decode(type, from: bytes, format, key) }
    }
    guard format == .cbor || format == .json else { throw mismatch(type, format, key) }
    return try decode(type, from: bytes, format, key)
  }

  private static func withEncoded<V: Encodable, R>(
    _ value: V, _ body: (UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    let result: Result<R, CacheError>
    do {
      result = try CBOREncoder().withEncoded(value, body)
    } catch {
      throw CacheError(
        .encodingFailed, "A value of type \(V.self) cannot be encoded; nothing was written.", underlying: error)
    }
    return try result.get()
  }

  private static func decode<V: Codable>(
    _ type: V.Type, from bytes: UnsafeRawBufferPointer, _ format: ArchiveFormat, _ key: String
  ) throws(CacheError) -> V {
    do {
      return format == .json ? try decodeJSON(type, bytes) : try CBORDecoder().decode(type, from: bytes)
    } catch let error as DecodingError {
      if case .dataCorrupted = error {
        throw CacheError(
          .decodingFailed, "The entry \(quoted(key)) cannot be decoded as \(type). It is kept; remove or replace it.",
          underlying: error)
      }
      throw mismatch(type, format, key, underlying: error)
    } catch {
      throw CacheError(
        .decodingFailed, "Decoding the entry \(quoted(key)) as \(type) failed. It is kept; remove or replace it.",
        underlying: error)
    }
  }

  /// What earlier versions wrote.
  private static func decodeJSON<V: Codable>(_ type: V.Type, _ bytes: UnsafeRawBufferPointer) throws -> V {
    let data = Data(
      bytesNoCopy: UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!),
      count: bytes.count, deallocator: .none)
    return try JSON.value(type, from: data)
  }

  private static func mismatch(
    _ type: Any.Type, _ format: ArchiveFormat, _ key: String, underlying: (any Error)? = nil
  ) -> CacheError {
    CacheError(
      .typeMismatch, "The entry \(quoted(key)) is stored as \(format) and cannot be read as \(type). It is kept.",
      underlying: underlying)
  }
}

/// A key for a message: quoted, and cut where it is long.
func quoted(_ key: String) -> String {
  key.utf8.count <= 80 ? "\"\(key)\"" : "\"\(key.prefix(60))…\" (\(key.utf8.count) bytes)"
}
