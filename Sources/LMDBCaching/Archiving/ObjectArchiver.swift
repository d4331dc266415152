import Foundation

/// Turns NSCoding objects into the bytes of a record and back.
enum ObjectArchiver {
  static func archive(
    _ object: any NSCoding, with coding: ObjectCoding
  ) throws(CacheError) -> (format: ArchiveFormat, data: Data) {
    do {
      if let customArchive = coding.customArchive { return (.custom, try customArchive(object)) }
      return (.keyedArchive, try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false))
    } catch {
      throw CacheError(
        .encodingFailed, "An object of class \(type(of: object)) cannot be archived; nothing was written.",
        underlying: error)
    }
  }

  static func object(
    from data: Data, format: ArchiveFormat, with coding: ObjectCoding, forKey key: String
  ) throws(CacheError) -> any NSCoding {
    switch format {
    case .keyedArchive: return try keyedObject(from: data, with: coding, key)
    case .custom:
      guard let customUnarchive = coding.customUnarchive else {
        throw CacheError(
          .decodingFailed, "The entry \(quoted(key)) was archived by a custom closure; set customUnarchive to read it.")
      }
      do {
        return try customUnarchive(data)
      } catch {
        throw CacheError(
          .decodingFailed, "customUnarchive failed for the entry \(quoted(key)). It is kept.", underlying: error)
      }
    default:
      let value = data.withUnsafeBytes { RawArchiving.anyValue(from: $0, format: format) }
      guard let value, let object = foundationObject(of: value) else {
        throw CacheError(
          .typeMismatch,
          "The entry \(quoted(key)) is stored as \(format), which is no object; read it with value(_:forKey:).")
      }
      return object
    }
  }

  private static func keyedObject(
    from data: Data, with coding: ObjectCoding, _ key: String
  ) throws(CacheError) -> any NSCoding {
    let object: Any?
    do {
      let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
      unarchiver.requiresSecureCoding = false
      unarchiver.decodingFailurePolicy = .setErrorAndReturn
      if let allowed = coding.allowedClasses {
        #if canImport(Darwin)
          unarchiver.requiresSecureCoding = true
          object = unarchiver.decodeObject(of: foundationClasses + allowed, forKey: NSKeyedArchiveRootObjectKey)
        #else
          // Foundation here ends the process when it meets a class that is not allowed: it is not to meet one.
          guard try namesOnly(foundationClasses + allowed, data) else { throw notAllowed(key) }
          object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
        #endif
      } else {
        object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
      }
      if let error = unarchiver.error { throw error }
    } catch let error as CacheError {
      throw error
    } catch {
      throw CacheError(
        .decodingFailed, "The object under \(quoted(key)) cannot be unarchived. It is kept; remove or replace it.",
        underlying: error)
    }
    guard let object else { throw notAllowed(key) }
    // On Linux the unarchiver hands out Swift values for some of Foundation's classes.
    if let coding = object as? any NSCoding { return coding }
    if let bridged = foundationObject(of: object) { return bridged }
    throw CacheError(
      .typeMismatch, "The archive under \(quoted(key)) holds a \(type(of: object)), which is no NSCoding object.")
  }

  private static func notAllowed(_ key: String) -> CacheError {
    CacheError(
      .decodingFailed,
      "The object under \(quoted(key)) is of a class that is unknown here or not in allowedClasses. It is kept.")
  }

  /// Whether every class that a keyed archive names is one of `classes` or a subclass of one.
  private static func namesOnly(_ classes: [AnyClass], _ data: Data) throws -> Bool {
    func matches<C: AnyObject>(_ found: AnyClass, _ allowed: C.Type) -> Bool { found is C.Type }
    let archive = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
    guard let objects = archive?["$objects"] as? [Any] else { return false }
    for case let object as [String: Any] in objects {
      guard let name = object["$classname"] else { continue }
      guard let name = name as? String, let found = NSClassFromString(name),
        classes.contains(where: { matches(found, $0) })
      else { return false }
    }
    return true
  }

  /// Foundation's value classes, which any archive may hold.
  private static let foundationClasses: [AnyClass] = [
    NSString.self, NSNumber.self, NSData.self, NSDate.self, NSArray.self, NSDictionary.self, NSSet.self,
    NSOrderedSet.self, NSURL.self, NSUUID.self, NSNull.self,
  ]

  private static func foundationObject(of value: Any) -> (any NSCoding)? {
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
