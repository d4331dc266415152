import CBORCoding
import Foundation
import FoundationArchives

enum ObjectArchiver {
  /// `body` must not keep the bytes.
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
        let result = try archiving(object) {
          try CBORKeyedArchiver.withArchive(ofRootObject: object) { (bytes) throws(CacheError) in
            try body(.objectGraph, bytes)
          }
        }
        return try result.get()
      }
    #endif
    let data = try archiving(object) { try KeyedArchive.data(of: object, permitted: permitted(coding)) }
    return try data.withBytes { (bytes) throws(CacheError) in try body(.keyedArchive, bytes) }
  }

  private static func archiving<R>(_ object: any NSCoding, _ body: () throws -> R) throws(CacheError) -> R {
    do {
      return try body()
    } catch {
      throw .notArchived("An object of class \(type(of: object))", error)
    }
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
          return try unarchiver.root(of: permitted(coding) ?? [])
        }
      } catch {
        throw .notUnarchived(objectUnder: key, error)
      }
      guard let object = object as? any NSCoding else {
        throw CacheError(.typeMismatch, "The archive under \(quoted(key)) holds no NSCoding object.")
      }
      return object
    #endif
  }

  private static func permitted(_ coding: ObjectCoding) -> [AnyClass]? {
    coding.allowedClasses.map { FoundationValue.classes + $0 }
  }

  private static func keyedObject(
    from data: Data, with coding: ObjectCoding, _ key: String
  ) throws(CacheError) -> any NSCoding {
    let object: Any?
    do {
      object = try KeyedArchive.root(of: data, permitted: permitted(coding))
    } catch {
      throw .notUnarchived(objectUnder: key, error)
    }
    guard let object else { throw notAllowed(key) }
    // On Apple platforms the unarchiver returns Swift values for some of Foundation's classes.
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
}
