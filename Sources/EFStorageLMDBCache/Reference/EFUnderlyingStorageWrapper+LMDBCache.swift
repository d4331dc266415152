public import EFStorageCore
public import LMDBCaching

extension EFUnderlyingStorageWrapper {
  /// The content under a key of this cache; setting `nil` removes it.
  public subscript<Content: LMDBCacheStorable>(dynamicMember key: String) -> Content? where Base == LMDBCache {
    get { EFStorageLMDBCacheRef.forKey(key, in: base).content }
    set { EFStorageLMDBCacheRef.forKey(key, in: base).content = newValue }
  }

  /// The content under a key of the default cache; setting nil removes it.
  public subscript<Content: LMDBCacheStorable>(dynamicMember key: String) -> Content? where Base == LMDBCache.Type {
    get { EFStorageLMDBCacheRef.forKey(key).content }
    set { EFStorageLMDBCacheRef.forKey(key).content = newValue }
  }
}
