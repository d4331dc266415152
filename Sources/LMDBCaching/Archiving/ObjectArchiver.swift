import Foundation
import FoundationArchives

/// Turns NSCoding objects into the bytes of a record and back.
enum ObjectArchiver {
  /// Archives an object and calls `body` with the bytes, which are valid in it only.
  static func withArchive<R>(
    of object: any NSCoding, with coding: ObjectCoding,
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    if let customArchive = coding.customArchive {
      let data = try archiving(object) { try customArchive(object) }
      return try data.withBytes { (bytes) throws(CacheError) in try body(.custom, bytes) }
    }
    #if !canImport(Darwin)
      if coding.archiving == .cbor {
        if let result = try FoundationValue.withRawBytes(of: object, body) { return result }
        let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
        archiver.encode(object as Any?, forKey: NSKeyedArchiveRootObjectKey)
        archiver.finish()
        if let failure = archiver.failure { throw cannotArchive(object, failure) }
        return try archiver.writer.withBytes { (bytes) throws(CacheError) in try body(.objectGraph, bytes) }
      }
    #endif
    let data = try archiving(object) {
      #if !canImport(Darwin)
        try CBORKeyedArchiver.rehearse(object)
      #endif
      return try KeyedArchive.data(of: object)
    }
    return try data.withBytes { (bytes) throws(CacheError) in try body(.keyedArchive, bytes) }
  }

  private static func archiving<R>(_ object: any NSCoding, _ body: () throws -> R) throws(CacheError) -> R {
    do {
      return try body()
    } catch {
      throw cannotArchive(object, error)
    }
  }

  private static func cannotArchive(_ object: any NSCoding, _ error: any Error) -> CacheError {
    CacheError(
      .encodingFailed, "An object of class \(type(of: object)) cannot be archived; nothing was written.",
      underlying: error)
  }

  static func object(
    from data: Data, format: ArchiveFormat, with coding: ObjectCoding, forKey key: String
  ) throws(CacheError) -> any NSCoding {
    switch format {
    case .objectGraph:
      return try data.withBytes { (bytes) throws(CacheError) in try graphObject(from: bytes, with: coding, key) }
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
      let object = data.withUnsafeBytes { FoundationValue.object(from: $0, format: format) }
      guard let object else {
        throw CacheError(
          .typeMismatch,
          "The entry \(quoted(key)) is stored as \(format), which is no object; read it with value(_:forKey:).")
      }
      return object
    }
  }

  private static func graphObject(
    from bytes: UnsafeRawBufferPointer, with coding: ObjectCoding, _ key: String
  ) throws(CacheError) -> any NSCoding {
    #if canImport(Darwin)
      throw CacheError(
        .decodingFailed, "The object under \(quoted(key)) was archived as CBOR, which is not read on this platform.")
    #else
      let object: Any?
      do {
        object = try CBORKeyedUnarchiver.read(bytes) { unarchiver in
          unarchiver.requiresSecureCoding = coding.allowedClasses != nil
          return try unarchiver.root(of: coding.allowedClasses.map { FoundationValue.classes + $0 } ?? [])
        }
      } catch {
        throw CacheError(
          .decodingFailed, "The object under \(quoted(key)) cannot be unarchived. It is kept; remove or replace it.",
          underlying: error)
      }
      guard let object = object as? any NSCoding else {
        throw CacheError(.typeMismatch, "The archive under \(quoted(key)) holds no NSCoding object.")
      }
      return object
    #endif
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
          object = unarchiver.decodeObject(of: FoundationValue.classes + allowed, forKey: NSKeyedArchiveRootObjectKey)
        #else
          // Foundation here ends the process when it meets a class that is not allowed: it is not to meet one.
          guard try namesOnly(FoundationValue.classes + allowed, data) else { throw notAllowed(key) }
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
    if let bridged = FoundationObject.bridging(object) { return bridged }
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
}
