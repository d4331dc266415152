import EFStorageCore
public import Foundation
public import LMDBCaching

extension LMDBCacheStorable where Self: NSCoding {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { .success(self) }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { object(in: cache, key) }

  fileprivate static func object(in cache: LMDBCache, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let object = try cache.object(forKey: key) else { return nil }
      guard let object = object as? Self else {
        throw CacheError(
          .typeMismatch, "The object under \"\(key)\" is a \(type(of: object)), not a \(Self.self). It is kept.")
      }
      return object
    }
  }
}

// A class that is both is stored as its coder says.
extension LMDBCacheStorable where Self: NSCoding & Codable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { .success(self) }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { object(in: cache, key) }
}
