import CBORCoding
package import Foundation
import FoundationObjects

package enum KeyedArchive {
  /// Archives an object and verifies that it can be read back as the type.
  ///
  /// - Throws: ``KeyedArchiveError`` if the object cannot be archived or read back. Foundation on Linux ends the
  ///   process for some of those objects, and silently loses others.
  package static func data<Object: NSCoding>(of object: Object, as type: Object.Type) throws -> Data {
    try data(of: object) { _ = try self.object(type, from: $0) }
  }

  /// Archives an object and verifies that it can be read back.
  ///
  /// - Parameter permitted: As for ``root(of:permitted:)``.
  package static func data(of object: any NSCoding, permitted: [AnyClass]? = nil) throws -> Data {
    try data(of: object) { data in
      guard try root(of: data, permitted: permitted) != nil else {
        throw KeyedArchiveError("Objects of class \(Swift.type(of: object)) are not allowed.")
      }
    }
  }

  private static func data(of object: any NSCoding, check: (Data) throws -> Void) throws -> Data {
    var root: any NSCoding = object
    #if !canImport(Darwin)
      // Foundation on Linux ends the process for a class that it cannot name.
      let name = String(reflecting: type(of: object))
      guard name.split(separator: ".").count == 2 else { throw UnnamedClassError(name) }
      try CBORKeyedArchiver.rehearse(object)
      if let object = object as? any NSObject & NSCoding, Hashing.of(type(of: object)) == .fatal {
        root = StandIn(object)
      }
    #endif
    let data = try NSKeyedArchiver.archivedData(withRootObject: root, requiringSecureCoding: false)
    do { try check(data) } catch {
      throw KeyedArchiveError(
        """
        An archive of NSKeyedArchiver does not give back the \(type(of: object)): \(error) Store a Codable value, or in a \
        cache archive objects as ObjectCoding.Archiving.cbor.
        """)
    }
    return data
  }

  /// - Throws: The unarchiver's error, or `CocoaError.coderReadCorrupt` for another class.
  package static func object<Object: NSCoding>(_ type: Object.Type, from data: Data) throws -> Object {
    let object = try root(of: data)
    if let object = object as? Object { return object }
    // Apple's unarchiver returns Swift values for some Foundation classes.
    if let object = object.flatMap(FoundationObject.bridging) as? Object { return object }
    throw CocoaError(.coderReadCorrupt)
  }

  /// Returns an archive's root object, or `nil` if nil was archived or, on Apple's platforms, if the object is not
  /// permitted.
  ///
  /// - Parameter permitted: Allowed classes, including their subclasses; `nil` for any.
  /// - Throws: The first error. Damaged or forged bytes are an error and never end the process.
  package static func root(of data: Data, permitted: [AnyClass]? = nil) throws -> Any? {
    #if canImport(Darwin)
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.requiresSecureCoding = permitted != nil
      unarchiver.decodingFailurePolicy = .setErrorAndReturn
      defer { unarchiver.finishDecoding() }
      let object =
        permitted.map { unarchiver.decodeObject(of: $0, forKey: NSKeyedArchiveRootObjectKey) }
        ?? unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
      if let error = unarchiver.error { throw error }
      return object
    #else
      return try KeyedArchiveReader.root(of: data, permitted: permitted)
    #endif
  }
}

#if !canImport(Darwin)
  /// Archived as the object it holds. The archiver asks each object for its hash, which would end the process.
  private final class StandIn: NSObject, NSCoding {
    private let object: any NSObject & NSCoding

    init(_ object: any NSObject & NSCoding) { self.object = object }

    required init?(coder: NSCoder) { nil }

    override var classForCoder: AnyClass { type(of: object) }
    override var classForKeyedArchiver: AnyClass? { type(of: object) }

    func encode(with coder: NSCoder) {
      guard let number = object as? NSDecimalNumber else { return object.encode(with: coder) }
      // As on Apple's platforms: Foundation on Linux would write the nearest Double.
      let decimal = number.decimalValue
      let mantissa = decimal.isNaN ? 0 : UInt128(decimal.significand.magnitude.description) ?? 0
      coder.encode(decimal.exponent, forKey: "NS.exponent")
      coder.encode((UInt128.bitWidth - mantissa.leadingZeroBitCount + 15) / 16, forKey: "NS.length")
      coder.encode(decimal.isNaN || decimal.sign == .minus, forKey: "NS.negative")
      coder.encode(false, forKey: "NS.compact")
      coder.encode(1, forKey: "NS.mantissa.bo")
      withUnsafeBytes(of: mantissa.littleEndian) { bytes in
        coder.encodeBytes(bytes.bindMemory(to: UInt8.self).baseAddress, length: bytes.count, forKey: "NS.mantissa")
      }
    }
  }
#endif

package enum FoundationObject {
  /// The object for a value of a standard type, or `nil` for other types. Apple's platforms bridge implicitly; Linux
  /// does not.
  package static func bridging(_ value: Any) -> (any NSCoding)? {
    switch value {
    case let value as String: NSString(string: value)
    case let value as Data: NSData(data: value)
    case let value as Bool: NSNumber(value: value)
    case let value as Int64: NSNumber(value: value)
    case let value as UInt64: NSNumber(value: value)
    case let value as Int: NSNumber(value: value)
    case let value as Double: NSNumber(value: value)
    case let value as Float: NSNumber(value: value)
    case let value as Date: NSDate(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate)
    case let value as UUID: NSUUID(uuidString: value.uuidString)
    case let value as URL: NSURL(string: value.absoluteString)
    case let value as [Any]: NSArray(array: value)
    case let value as [AnyHashable: Any]: NSDictionary(dictionary: value)
    case let value as Set<AnyHashable>: NSSet(set: value)
    default: nil
    }
  }
}

/// The reason why an archive of `NSKeyedArchiver` is not read. The stored data is kept.
package struct KeyedArchiveError: LocalizedError, CustomStringConvertible {
  package let description: String
  package var errorDescription: String? { description }

  init(_ description: String) { self.description = description }
}

/// A class that Foundation on Linux cannot name in an archive.
package struct UnnamedClassError: LocalizedError, CustomStringConvertible {
  package let description: String
  package var errorDescription: String? { description }

  init(_ name: String) {
    description =
      "\(name) is not at the top level of a module, and only such classes can be archived here. Move it there."
  }
}
