import CBORCoding
import Foundation
import FoundationArchives
import FoundationObjects

/// Converts between Foundation objects and the values they are stored as.
enum FoundationValue {
  /// Calls `body` with the bytes of an object that can be stored as a value without loss; otherwise returns `nil`. The
  /// class must match exactly: a mutable string must be read back as mutable.
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

  private static let booleanNumber: Any.Type = type(of: NSNumber(value: true))

  /// Returns the object of a raw record, or `nil` if the format does not hold an object.
  static func object(from bytes: UnsafeRawBufferPointer, format: ArchiveFormat) -> (any NSCoding)? {
    switch format {
    // From the bytes: on Linux `NSURL` and `URL` accept different strings.
    case .url: NSURL(string: String(decoding: bytes, as: UTF8.self))
    case .bytes: NSData(bytes: bytes.baseAddress, length: bytes.count)
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
