import CBORCoding
import Foundation
import FoundationArchives
import FoundationObjects

/// Foundation's objects that are stored as the values they are, and those values as objects.
enum FoundationValue {
  /// Calls `body` with the bytes of an object that loses nothing when it is stored as a value. Returns `nil` if it
  /// would.
  ///
  /// Objects of exactly these classes: a mutable string has to come back mutable.
  @inline(__always)
  static func withRawBytes<R>(
    of object: any NSCoding, _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R? {
    let type: Any.Type = Swift.type(of: object)
    if type == NSString.self, let string = object as? NSString { return try (string as String).withRawBytes(body) }
    if type == NSData.self, let data = object as? NSData {
      let count = data.length
      return try body(.bytes, UnsafeRawBufferPointer(start: count > 0 ? data.bytes : nil, count: count))
    }
    if type == NSNumber.self || type == booleanNumber, let number = object as? NSNumber {
      if type == booleanNumber { return try number.boolValue.withRawBytes(body) }
      return switch UInt8(bitPattern: number.objCType.pointee) {
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

  /// The class of the two numbers that are booleans.
  private static let booleanNumber: Any.Type = type(of: NSNumber(value: true))

  /// Returns the object of a raw record, or `nil` if the format is of something that is no object.
  static func object(from bytes: UnsafeRawBufferPointer, format: ArchiveFormat) -> (any NSCoding)? {
    switch format {
    // Straight from the bytes: on Linux `NSURL` and `URL` do not take the same strings.
    case .url: NSURL(string: String(decoding: bytes, as: UTF8.self))
    case .bytes: NSData(bytes: bytes.baseAddress, length: bytes.count)
    default: RawArchiving.anyValue(from: bytes, format: format).flatMap { FoundationObject.bridging($0) }
    }
  }

  /// Foundation's value classes, which any archive may hold.
  static var classes: [AnyClass] {
    #if canImport(Darwin)
      ValueClasses.basic
    #else
      CBORKeyedUnarchiver.foundationClasses
    #endif
  }
}
