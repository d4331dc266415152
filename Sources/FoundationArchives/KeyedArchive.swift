import CBORCoding
package import Foundation
import FoundationObjects

/// Archives of `NSKeyedArchiver`, written and read by Foundation.
///
/// Foundation on Linux ends the process for some objects. Those are an error here, when written and when read.
/// Otherwise a malformed archive is read as `NSKeyedUnarchiver` reads it.
package enum KeyedArchive {
  /// Archives an object and verifies that it can be read back as the type.
  ///
  /// - Throws: ``KeyedArchiveError`` if the object cannot be archived or read back.
  package static func data<Object: NSCoding>(of object: Object, as type: Object.Type) throws -> Data {
    try data(of: object) { _ = try self.object(type, from: $0) }
  }

  /// Archives an object and verifies that it can be read back.
  ///
  /// - Parameter permitted: As for ``root(of:permitted:)``.
  package static func data(of object: any NSCoding, permitted: [AnyClass]? = nil) throws -> Data {
    try data(of: object) { data in
      guard let root = try root(of: data, permitted: permitted) else {
        throw KeyedArchiveError("The archive holds nil.")
      }
      // Foundation on Linux loses the inversion of some sets, once others were archived.
      if let set = object as? NSCharacterSet, !set.isEqual(root) { throw KeyedArchiveError("It holds another set.") }
    }
  }

  private static func data(of object: any NSCoding, check: (Data) throws -> Void) throws -> Data {
    #if !canImport(Darwin)
      try CBORKeyedArchiver.rehearse(object)
    #endif
    let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
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
  package static func root(of data: Data, permitted: [AnyClass]? = nil) throws -> Any? {
    #if !canImport(Darwin)
      try Contents(data).check(permitted.map { AllowedClasses($0) })
    #endif
    return try unarchived(data, permitted)
  }

  /// Requires a checked archive.
  private static func unarchived(_ data: Data, _ permitted: [AnyClass]?) throws -> Any? {
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    defer { unarchiver.finishDecoding() }
    var object: Any?
    #if canImport(Darwin)
      unarchiver.requiresSecureCoding = permitted != nil
      if let permitted {
        object = unarchiver.decodeObject(of: permitted, forKey: NSKeyedArchiveRootObjectKey)
      } else {
        object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
      }
    #else
      // The classes are checked: where secure coding is required, an unexpected one ends the process.
      unarchiver.requiresSecureCoding = false
      object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
    #endif
    if let error = unarchiver.error { throw error }
    return object
  }

  // MARK: Plain data

  /// Returns an archive's root as a value, or `nil` if it is nil or holds objects of other classes than strings,
  /// numbers, data, dates, URLs, UUIDs and collections of them.
  ///
  /// - Throws: If the data is damaged or not an archive.
  package static func plainValue(of data: Data) throws -> PlainValue? {
    try plainValue(of: data, classes: scalarClasses.union(mutableClasses).union(collectionClasses))
  }

  /// Returns an archive's root as a value, or `nil` if it is a collection, mutable, nil, or of another class.
  ///
  /// - Throws: If the data is damaged or not an archive.
  package static func scalar(of data: Data) throws -> PlainValue? { try plainValue(of: data, classes: scalarClasses) }

  private static func plainValue(of data: Data, classes: Set<String>) throws -> PlainValue? {
    let contents = try Contents(data)
    guard contents.classNames.allSatisfy({ classes.contains($0) }) else { return nil }
    #if !canImport(Darwin)
      try contents.check(nil)
    #endif
    return try unarchived(data, nil).flatMap { PlainValue($0, length: data.count) }
  }

  // Strings, numbers and data have no class name in archives by Foundation on Linux.
  private static let scalarClasses: Set<String> = ["NSString", "NSData", "NSNumber", "NSDate", "NSURL", "NSUUID"]
  private static let mutableClasses: Set<String> = ["NSMutableString", "NSMutableData"]
  private static let collectionClasses: Set<String> = [
    "NSNull", "NSArray", "NSMutableArray", "NSDictionary", "NSMutableDictionary", "NSSet", "NSMutableSet",
  ]

  /// An archive's objects, as the property list has them.
  private struct Contents {
    private let objects: [Any]

    init(_ data: Data) throws {
      let list = try unsafe PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
      guard let objects = list?["$objects"] as? [Any] else {
        throw KeyedArchiveError("The property list is no archive of NSKeyedArchiver.")
      }
      self.objects = objects
    }

    private var classes: [[String: Any]] {
      objects.compactMap { $0 as? [String: Any] }.filter { $0["$classname"] != nil }
    }

    var classNames: [String] { classes.compactMap { $0["$classname"] as? String } }

    #if !canImport(Darwin)
      /// Foundation reads only some of their objects, and ends the process for others.
      private static let unreadable: Set<String> = ["NSNotification"]

      /// - Throws: ``KeyedArchiveError`` if the archive has an object that cannot be read here, or is not permitted.
      func check(_ permitted: AllowedClasses?) throws(KeyedArchiveError) {
        for description in classes {
          guard let name = description["$classname"] as? String else { continue }
          let ancestors = description["$classes"] as? [String] ?? []
          if let name = ([name] + ancestors).first(where: { Self.unreadable.contains($0) }) {
            throw KeyedArchiveError("NSKeyedUnarchiver on Linux does not read objects of class \(name).")
          }
          guard let type = NSKeyedUnarchiver.class(forClassName: name) ?? NSClassFromString(name) else {
            throw KeyedArchiveError(
              """
              The class "\(name.prefix(60))" is unknown here: it was renamed or moved, or is not linked in. \
              NSKeyedUnarchiver.setClass(_:forClassName:) gives the name another class.
              """)
          }
          if let permitted, !permitted.contains(type) {
            throw KeyedArchiveError("An object of class \(type) is not allowed.")
          }
        }
        // The first one stands for nil.
        if objects.dropFirst().contains(where: { $0 as? String == "$null" }) {
          throw KeyedArchiveError("NSKeyedUnarchiver on Linux reads the text \"$null\" as nil.")
        }
      }
    #endif
  }
}

/// The reason why an archive of `NSKeyedArchiver` is not written or read. Stored data is kept.
package struct KeyedArchiveError: LocalizedError, CustomStringConvertible {
  package let description: String
  package var errorDescription: String? { description }

  init(_ description: String) { self.description = description }
}

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
