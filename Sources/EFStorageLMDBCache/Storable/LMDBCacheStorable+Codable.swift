import EFStorageCore
public import Foundation
public import LMDBCaching

extension LMDBCacheStorable where Self: Codable {
  @inlinable
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { .success(CacheValue.make(self)) }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? {
    LoadingErrors.noting(forKey: key) { try cache.sharedValue(Self.self, forKey: key) }
  }
}
