import CBORCoding
import Foundation
import FoundationArchives
import FoundationObjects

/// Turns Swift values into the bytes of a record and back.
enum ValueArchiver {
  /// `body` must not keep the bytes.
  @inline(__always)
  static func withArchive<V: Codable, R>(
    of value: V, _ body: (ArchiveFormat, ByteView) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    if let result = try RawArchiving.withRawBytes(of: value, body) { return result }
    return try withEncoded(value) { (bytes) throws(CacheError) in try body(.cbor, bytes) }
  }

  /// The record's format decides how to read, not the requested type.
  static func value<V: Codable>(
    _ type: V.Type, from bytes: ByteView, format: ArchiveFormat, forKey key: String
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
        guard let root = unsafe CBORKeyedUnarchiver.plainRoot(of: bytes.buffer) else {
          throw .mismatch(type, format, key)
        }
        return try root.withBytes { (bytes) throws(CacheError) in try decode(type, from: bytes, format, key) }
    #endif
    default: throw .mismatch(type, format, key)
    }
  }

  /// Reads strings, numbers, dates and so on, and collections of them, from `NSKeyedArchiver` as Swift values.
  private static func plainValue<V: Codable>(
    _ type: V.Type, from bytes: ByteView, _ key: String
  ) throws(CacheError) -> V {
    let value: PlainValue?
    do {
      value = try KeyedArchive.plainValue(of: Data(bytes))
    } catch {
      throw .notUnarchived(type, .keyedArchive, key, error)
    }
    guard let value else { throw .mismatch(type, .keyedArchive, key) }
    return try withEncoded(value) { (bytes) throws(CacheError) in try decode(type, from: bytes, .keyedArchive, key) }
  }

  private static func withEncoded<V: Encodable, R>(
    _ value: V, _ body: (ByteView) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    let result: Result<R, CacheError>
    do {
      result = try unsafe CBOREncoder().withEncoded(value) { (bytes) throws(CacheError) in
        try unsafe body(ByteView(bytes))
      }
    } catch {
      throw .notArchived("A value of type \(V.self)", error)
    }
    return try result.get()
  }

  private static func decode<V: Codable>(
    _ type: V.Type, from bytes: ByteView, _ format: ArchiveFormat, _ key: String
  ) throws(CacheError) -> V {
    do {
      return try unsafe CBORDecoder().decode(type, from: bytes.buffer)
    } catch {
      throw .notUnarchived(type, format, key, error)
    }
  }
}

// The only place that converts coder errors to cache errors.

extension CacheError {
  static func notArchived(_ what: String, _ error: any Error) -> CacheError {
    CacheError(.encodingFailed, "\(what) cannot be archived; nothing was written.", underlying: error)
  }

  /// The stored value cannot be read as the requested type: it has another type, if the coder says so, or is damaged.
  static func notUnarchived(_ type: Any.Type, _ format: ArchiveFormat, _ key: String, _ error: any Error) -> CacheError
  {
    switch error {
    case DecodingError.dataCorrupted: break
    case is DecodingError: return mismatch(type, format, key, underlying: error)
    default: break
    }
    return CacheError(
      .decodingFailed, "The entry \(quoted(key)) cannot be decoded as \(type). It is kept; remove or replace it.",
      underlying: error)
  }

  static func notUnarchived(objectUnder key: String, _ error: any Error) -> CacheError {
    let remedy: String
    switch (error as? CBORCodingError)?.code {
    case .classNotAllowed: remedy = "Add its class to ObjectCoding.allowedClasses, or remove or replace the entry."
    case .classUnknown: remedy = "Link the class in, or set one by CBORKeyedUnarchiver.setClass(_:forClassName:)."
    default: remedy = "Remove or replace it."
    }
    return CacheError(
      .decodingFailed, "The object under \(quoted(key)) cannot be unarchived. It is kept. \(remedy)", underlying: error)
  }

  static func mismatch(
    _ type: Any.Type, _ format: ArchiveFormat, _ key: String, underlying: (any Error)? = nil
  ) -> CacheError {
    CacheError(
      .typeMismatch,
      "The entry \(quoted(key)) is stored as \(format) and cannot be read as \(type). It is kept; remove or replace it.",
      underlying: underlying)
  }
}

/// A key for a message: quoted and truncated.
package func quoted(_ key: String) -> String {
  key.utf8.count <= 80 ? "\"\(key)\"" : "\"\(key.prefix(60))…\" (\(key.utf8.count) bytes)"
}

/// Converts between Foundation objects and the values they are stored as.
enum FoundationValue {
  /// Calls `body` with the bytes of an object that can be stored as a value without loss; otherwise returns `nil`. The
  /// class must match exactly: a mutable string must be read back as mutable.
  @inline(__always)
  static func withRawBytes<R>(
    of object: any NSCoding, _ body: (ArchiveFormat, ByteView) throws(CacheError) -> R
  ) throws(CacheError) -> R? {
    let type: Any.Type = Swift.type(of: object)
    if type == NSString.self, let string = object as? NSString { return try (string as String).withRawBytes(body) }
    if type == NSData.self, let data = object as? NSData {
      let count = data.length
      return try unsafe body(
        .bytes, ByteView(UnsafeRawBufferPointer(start: count > 0 ? data.bytes : nil, count: count)))
    }
    if type == NSNumber.self || type == booleanNumber, let number = object as? NSNumber {
      if type == booleanNumber { return try number.boolValue.withRawBytes(body) }
      return switch unsafe UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "d"): try number.doubleValue.withRawBytes(body)
      case UInt8(ascii: "f"): try number.floatValue.withRawBytes(body)
      case UInt8(ascii: "Q"): try number.uint64Value.withRawBytes(body)
      default: try number.int64Value.withRawBytes(body)
      }
    }
    if type == NSDate.self, let date = object as? NSDate {
      return try Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate).withRawBytes(body)
    }
    if type == NSUUID.self, let uuid = object as? NSUUID { return try (uuid as UUID).withRawBytes(body) }
    if type == NSURL.self, let url = object as? NSURL, url.baseURL == nil {
      return try withUTF8Bytes(of: url.relativeString) { (bytes) throws(CacheError) in try body(.url, bytes) }
    }
    return nil
  }

  private static let booleanNumber: Any.Type = type(of: NSNumber(value: true))

  /// Returns the object of a raw record, or `nil` if the format does not hold an object.
  static func object(from bytes: ByteView, format: ArchiveFormat) -> (any NSCoding)? {
    switch format {
    // From the bytes: on Linux `NSURL` and `URL` accept different strings.
    case .url: NSURL(string: String(utf8: bytes))
    case .bytes: unsafe NSData(bytes: bytes.buffer.baseAddress, length: bytes.count)
    default: RawArchiving.anyValue(from: bytes, format: format).flatMap { FoundationObject.bridging($0) }
    }
  }

  static var classes: [AnyClass] {
    #if canImport(Darwin)
      ValueClasses.basic
    #else
      CBORKeyedUnarchiver.foundationClasses
    #endif
  }
}
