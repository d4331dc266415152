// Importing the bridge is enough.
@_exported public import EFStorageLMDBCache
@_exported public import Storez

extension EFStorageLMDBCache {
  /// A property with the name and the default value of a key.
  ///
  /// ```swift
  /// @EFStorageLMDBCache(Weather.temperature)
  /// var temperature: Double
  /// ```
  ///
  /// It is the entry that an `LMDBStore` over the same cache has under the key. The key's and the namespace's hooks
  /// belong to stores: setting the property does not call them.
  ///
  /// - Parameter cache: The cache; the default cache if none is given.
  public init<K: KeyType>(_ key: K, in cache: LMDBCache? = LMDBCache.makeDefault()) where K.ValueType == Content {
    self.init(wrappedValue: key.defaultValue, forKey: key.stringValue, in: cache)
  }

  /// The same with content that expires.
  public init<K: KeyType>(
    _ key: K, in cache: LMDBCache? = LMDBCache.makeDefault(), expires: Expiry
  ) where K.ValueType == Content {
    self.init(wrappedValue: key.defaultValue, forKey: key.stringValue, in: cache, expires: expires)
  }
}
