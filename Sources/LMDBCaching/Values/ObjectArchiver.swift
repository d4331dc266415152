import CBORCoding
public import Foundation
import FoundationArchives

enum ObjectArchiver {
  /// `body` must not keep the bytes.
  static func withArchive<R>(
    of object: any NSCoding, with coding: ObjectCoding, _ body: (ArchiveFormat, ByteView) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    if let customArchive = coding.customArchive {
      let data = try archiving(object) { try customArchive(object) }
      return try data.withBytes { (bytes) throws(CacheError) in try body(.custom, bytes) }
    }
    #if !canImport(Darwin)
      if coding.archiving == .cbor {
        if let result = try FoundationValue.withRawBytes(of: object, body) { return result }
        let result = try archiving(object) {
          try unsafe CBORKeyedArchiver.withArchive(ofRootObject: object) { (bytes) throws(CacheError) in
            try unsafe body(.objectGraph, ByteView(bytes))
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
      let object = data.withBytes { FoundationValue.object(from: $0, format: format) }
      guard let object else {
        throw CacheError(
          .typeMismatch,
          "The entry \(quoted(key)) is stored as \(format), which is no object; read it with value(_:forKey:).")
      }
      return object
    }
  }

  private static func graphObject(
    from bytes: ByteView, with coding: ObjectCoding, _ key: String
  ) throws(CacheError) -> any NSCoding {
    #if canImport(Darwin)
      throw CacheError(
        .decodingFailed, "The object under \(quoted(key)) was archived as CBOR, which is not read on this platform.")
    #else
      let object: Any?
      do {
        object = try unsafe CBORKeyedUnarchiver.read(bytes.buffer) { unarchiver in
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
    guard let object else {
      throw CacheError(
        .decodingFailed,
        "The object under \(quoted(key)) is of a class that is unknown here or not in allowedClasses. It is kept.")
    }
    // On Apple platforms the unarchiver returns Swift values for some of Foundation's classes.
    if let coding = object as? any NSCoding { return coding }
    if let bridged = FoundationObject.bridging(object) { return bridged }
    throw CacheError(
      .typeMismatch, "The archive under \(quoted(key)) holds a \(type(of: object)), which is no NSCoding object.")
  }
}

/// How objects that conform to `NSCoding` are archived and read.
public struct ObjectCoding: Sendable {
  /// The format for writing objects. Reading uses the format of each entry. `value(_:forKey:)` can read archives of
  /// plain data (strings, numbers, data, dates, URLs, UUIDs and collections of them).
  public enum Archiving: Hashable, Sendable {
    /// CBOR, by `CBORKeyedArchiver` of the module `CBORCoding`; on Apple platforms the same as ``keyedArchive``.
    case cbor
    /// The format of `NSKeyedArchiver`, for exchange with programs that use it. On Linux it takes Foundation a hundred
    /// times as long or more, and loses the mutability of strings.
    ///
    /// Objects that cannot be read back are not written: each new archive is read once. On Linux each `encode(with:)`
    /// is called twice, and these are refused: decimal numbers, errors, notifications, objects of a class that is not at
    /// the top level of a module, and those whose `init(coder:)` asks for a key that is not there; it can ask
    /// `containsValue(forKey:)` first. Use ``cbor`` for them.
    ///
    /// Foundation's `NSKeyedUnarchiver` reads the archives. On Linux a malformed archive can end the process, so import
    /// them only from programs that you trust.
    case keyedArchive
  }

  /// The format for writing objects, unless ``customArchive`` is set. With ``Archiving/cbor``, strings, numbers, data,
  /// dates, URLs and UUIDs are written as values, and can be read as such.
  public var archiving = Archiving.cbor

  /// Classes that may be read besides Foundation's value classes, each conforming to `NSSecureCoding`.
  ///
  /// `nil`, the default, reads any class named by the archive, as YYCache does. Set a list if others can write into the
  /// directory.
  public var allowedClasses: [any (NSObject & NSSecureCoding).Type]?

  /// Archives instead of ``archiving``, as YYCache's `customArchiveBlock`.
  public var customArchive: (@Sendable (any NSCoding) throws -> Data)?

  /// Unarchives the data of ``customArchive``, as YYCache's `customUnarchiveBlock`.
  public var customUnarchive: (@Sendable (Data) throws -> any NSCoding)?

  public init() {}
}
