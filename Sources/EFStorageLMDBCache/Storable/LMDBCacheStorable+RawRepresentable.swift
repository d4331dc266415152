import EFStorageCore
public import Foundation
public import LMDBCaching

extension LMDBCacheStorable where Self: RawRepresentable, RawValue: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { rawValue.asLMDBCacheStorable() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { value(in: cache, key) }

  fileprivate static func value(in cache: LMDBCache, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let rawValue = try RawValue.loadFromLMDBCache(cache, forKey: key) else { return nil }
      guard let value = Self(rawValue: rawValue) else { throw unreadable(key) }
      return value
    }
  }
}

// A type that is both, such as an enumeration that is also Codable, is stored as its raw value.
extension LMDBCacheStorable where Self: RawRepresentable & Codable, RawValue: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { rawValue.asLMDBCacheStorable() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { value(in: cache, key) }
}
