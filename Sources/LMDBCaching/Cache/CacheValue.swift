public import Foundation

/// A Swift value as an NSCoding object. ``LMDBCache/setObject(_:forKey:expires:cost:tags:)`` stores it like
/// ``LMDBCache/set(_:forKey:expires:cost:tags:)``; read it with ``LMDBCache/value(_:forKey:)``.
///
/// It may be shared between threads if its value is immutable and may be.
public class CacheValue: NSObject, NSCoding {
  /// Wraps a value, which is archived when it is stored.
  @inlinable
  public static func make(_ value: some Codable) -> CacheValue { TypedCacheValue(value) }

  @usableFromInline
  override init() {}

  /// Always returns `nil`: no coder writes it.
  public required convenience init?(coder: NSCoder) { return nil }

  /// Fails: only a cache can archive it.
  public func encode(with coder: NSCoder) {
    coder.failWithError(
      CacheError(.encodingFailed, "A CacheValue is stored by itself; archive the value that it was made of."))
  }

  package func set(
    in cache: LMDBCache, forKey key: String, expires: Expiry, cost: Int?, tags: [String]
  ) throws(CacheError) {
    preconditionFailure("abstract")
  }

  func withNewEntry(
    in cache: LMDBCache, _ key: String, cost: Int?, _ body: (LMDBCache.NewEntry) throws(CacheError) -> Bool
  ) throws(CacheError) -> Bool {
    preconditionFailure("abstract")
  }
}

@usableFromInline
final class TypedCacheValue<Value: Codable>: CacheValue {
  private let value: Value

  @usableFromInline
  init(_ value: Value) {
    self.value = value
    super.init()
  }

  required convenience init?(coder: NSCoder) { return nil }

  override func set(
    in cache: LMDBCache, forKey key: String, expires: Expiry, cost: Int?, tags: [String]
  ) throws(CacheError) {
    try cache.setShared(value, forKey: key, expires: expires, cost: cost, tags: tags)
  }

  override func withNewEntry(
    in cache: LMDBCache, _ key: String, cost: Int?, _ body: (LMDBCache.NewEntry) throws(CacheError) -> Bool
  ) throws(CacheError) -> Bool {
    try cache.withNewEntry(value, key, cost: cost, body)
  }
}

/// A type that a cache keeps as a value of another type: in Storez's `LMDBStore`, under a typed key, and in a property
/// of EFStorage.
///
/// ```swift
/// extension Words: LMDBConvertible {
///   static func decode(lmdbValue value: String) -> Words? { … }
///   var encodeForLMDB: String? { … }
/// }
/// ```
public protocol LMDBConvertible {
  associatedtype LMDBType: Codable

  /// Returns the value, or `nil` if the stored one cannot be converted. It is kept then, and reported.
  static func decode(lmdbValue value: LMDBType) -> Self?
  /// Returns the value to store, or `nil` if it cannot be stored. The stored one stays then, and the failure is
  /// reported.
  var encodeForLMDB: LMDBType? { get }
}

extension LMDBConvertible {
  package func storedForm() throws(CacheError) -> LMDBType {
    if let stored = encodeForLMDB { return stored }
    throw CacheError(.encodingFailed, "\(Self.self).encodeForLMDB is nil; return what is to be stored.")
  }

  /// Returns the value under `key`, or `nil` if it is missing.
  ///
  /// - Throws: as `LMDBCache.value(_:forKey:)`, and `.decodingFailed` if the stored value cannot be converted.
  package static func convertedValue(in cache: LMDBCache, forKey key: String) throws(CacheError) -> Self? {
    guard let stored = try cache.sharedValue(LMDBType.self, forKey: key) else { return nil }
    if let value = decode(lmdbValue: stored) { return value }
    throw CacheError(
      .decodingFailed,
      "The entry \"\(key)\" is a \(LMDBType.self) of which no \(Self.self) can be made. It is kept: remove or replace it."
    )
  }
}

/// A stored null: the `nil` of an optional property, as opposed to a missing entry, which has a default.
package struct NullValue: Codable {
  package init() {}

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard container.decodeNil() else {
      throw DecodingError.typeMismatch(
        NullValue.self, .init(codingPath: decoder.codingPath, debugDescription: "Not a null."))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encodeNil()
  }
}

extension LMDBCache {
  /// Returns the result of `read`, `.some(nil)` for a null under `key`, or `nil` for a missing entry. `read` must throw
  /// for a null.
  package func nullable<Value>(
    forKey key: String, _ read: () throws(CacheError) -> Value?
  ) throws(CacheError) -> Value?? {
    var seen: EntryVersion??
    while true {
      do {
        return try read().map(Optional.some)
      } catch {
        if try holdsNull(key) { return .some(nil) }
        // A null may appear or disappear between the two look-ups, but the second time nothing has changed.
        let version = try entry(forKey: key)?.version
        if seen == .some(version) { throw error }
        seen = .some(version)
      }
    }
  }

  private func holdsNull(_ key: String) throws(CacheError) -> Bool {
    do {
      return try sharedValue(NullValue.self, forKey: key) != nil
    } catch {
      if error.code == .typeMismatch || error.code == .decodingFailed { return false }
      throw error
    }
  }
}

/// An archived value that is not stored yet, for callers that announce a write and must first know that it can be
/// archived.
package struct ArchivedValue {
  fileprivate let value: MemoryValue
  fileprivate let format: ArchiveFormat
  fileprivate let bytes: [UInt8]
}

extension CacheBatch {
  package mutating func set(_ archived: ArchivedValue, forKey key: String) throws(CacheError) {
    try archived.bytes.withBytes { (bytes) throws(CacheError) in
      try CacheKey.with(key) { (key) throws(CacheError) in
        let header = try store.header(for: key, archived.format, bytes, expires: 0, cost: nil)
        try store.put(key, header: header, payload: bytes, through: transforms, into: frames)
      }
    }
  }
}

extension LMDBCache {
  package func archive<V: Codable>(_ value: V) throws(CacheError) -> ArchivedValue {
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      ArchivedValue(
        value: TypedMemoryValue.make(value, archiveLength: bytes.count), format: format, bytes: Array(bytes))
    }
  }

  package func archive(object: any NSCoding) throws(CacheError) -> ArchivedValue {
    try ObjectArchiver.withArchive(of: object, with: objectCoding) { (format, bytes) throws(CacheError) in
      ArchivedValue(value: TypedMemoryValue(SharedObject(object: object)), format: format, bytes: Array(bytes))
    }
  }

  package func set(_ archived: ArchivedValue, forKey key: String) throws(CacheError) {
    try archived.bytes.withBytes { (bytes) throws(CacheError) in
      try put(archived.value, archived.format, bytes, forKey: key, expires: 0, cost: nil, tags: nil)
    }
  }
}
