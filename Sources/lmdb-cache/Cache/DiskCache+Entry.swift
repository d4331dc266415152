import LMDBCaching

extension DiskCache {
  /// What is known of one entry.
  func entry(forKey key: String) throws -> CacheEntry? {
    // Of the keys that start with this one, this one is the first.
    try entries(withPrefix: key).first.flatMap { $0.key.utf8.elementsEqual(key.utf8) ? $0 : nil }
  }
}
