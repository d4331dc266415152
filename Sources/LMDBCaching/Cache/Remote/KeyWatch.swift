/// Notes what happens to a key while a remote tier is asked about it, or told.
package final class KeyWatch: Sendable {
  let load: Load
  private let cache: LMDBCache

  package init(_ key: String, in cache: LMDBCache) throws(CacheError) {
    self.cache = cache
    load = try Load(ByteKey(key), of: cache.store.flights, isStored: true)
    cache.begin(load)
  }

  deinit { cache.end(load) }
}
