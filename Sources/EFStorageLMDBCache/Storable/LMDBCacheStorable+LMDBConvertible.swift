import EFStorageCore
public import Foundation
public import LMDBCaching

// A type with a conversion for Storez always uses it here, so that typed keys and properties can share values.

extension LMDBCacheStorable where Self: LMDBConvertible {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & Codable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & NSCoding {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & NSCoding & Codable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & RawRepresentable, RawValue: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & RawRepresentable & Codable, RawValue: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible {
  fileprivate func converted() -> Result<any NSCoding, any Error> { Result { CacheValue.make(try storedForm()) } }

  fileprivate static func conversion(in cache: LMDBCache, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) { try convertedValue(in: cache, forKey: key) }
  }
}
