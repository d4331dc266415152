import EFStorageCore
public import Foundation
public import LMDBCaching

/// A type whose values can be the content of an ``EFStorageLMDBCacheRef``.
///
/// For `Codable`, `NSCoding`, or `RawRepresentable` types with storable raw values, declaring it is enough:
///
/// ```swift
/// struct Session: Codable, LMDBCacheStorable {
///   var user: String
///   var token: Data
/// }
/// ```
///
/// To port a YYCache conformance, only change the names: both take NSCoding objects.
public protocol LMDBCacheStorable {
  /// Returns the object to store: an NSCoding object, or a `CacheValue` with a Codable value, which is faster.
  func asLMDBCacheStorable() -> Result<any NSCoding, any Error>

  /// Returns the value under `key`, or `nil` if it is missing or unreadable as this type.
  static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self?

  /// Returns the value under `key`, or `nil` if it is missing; throws if it is unreadable as this type.
  ///
  /// By default it calls ``fromLMDBCache(_:forKey:)``, and throws if that returns `nil` for an existing entry.
  static func loadFromLMDBCache(_ cache: LMDBCache, forKey key: String) throws -> Self?
}

extension LMDBCacheStorable {
  public static func loadFromLMDBCache(_ cache: LMDBCache, forKey key: String) throws -> Self? {
    try LoadingErrors.load(forKey: key) {
      try cache.containsValue(forKey: key)
    } read: {
      fromLMDBCache(cache, forKey: key)
    } unreadable: {
      unreadable(key)
    }
  }

  static func unreadable(_ key: String, underlying: (any Error)? = nil) -> CacheError {
    CacheError(
      .decodingFailed, "The entry \"\(key)\" cannot be read as \(Self.self). It is kept; remove or replace it.",
      underlying: underlying)
  }
}
