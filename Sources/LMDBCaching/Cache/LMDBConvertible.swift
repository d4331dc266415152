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
