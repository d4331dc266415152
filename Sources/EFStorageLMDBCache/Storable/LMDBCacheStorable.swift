import EFStorageCore
public import Foundation
public import LMDBCaching

/// A type whose values can be the content of an ``EFStorageLMDBCacheRef``.
///
/// For types that are `Codable`, `NSCoding`, or `RawRepresentable` by a storable type, saying so is enough:
///
/// ```swift
/// struct Session: Codable, LMDBCacheStorable {
///   var user: String
///   var token: Data
/// }
/// ```
///
/// A conformance for YYCache needs the names changed and nothing else: both take NSCoding objects.
public protocol LMDBCacheStorable {
  /// Returns what is to be stored: an object that the cache archives, or a `CacheValue` with a Codable value, which is faster.
  func asLMDBCacheStorable() -> Result<any NSCoding, any Error>

  /// Returns the value under `key`, or `nil` if there is none or it cannot be read as this type.
  static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self?

  /// Returns the value under `key`, or `nil` if there is none, and throws if there is something that cannot be read as
  /// this type.
  ///
  /// Without an implementation of your own it calls ``fromLMDBCache(_:forKey:)``, and throws if that returns `nil` though
  /// there is an entry.
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
