/// The changes that ``LMDBCache/write(waitsForCommit:_:)`` makes as one, in the order in which they are given.
public struct CacheBatch: ~Copyable {
  let frames: BatchFrames
  /// The first failure; it makes the whole batch fail.
  private(set) var failure: CacheError?
  /// Alone, and not its store and transforms: of two properties that the initializer took out of the cache for this structure,
  /// which cannot be copied, optimized code of Swift 6.3.1 released the second once too often.
  private let cache: DiskCache

  init(_ cache: DiskCache, isAwaited: Bool) {
    self.cache = cache
    frames = BatchFrames(isAwaited: isAwaited || cache.store.durability == .full)
  }

  var store: DiskStore { cache.store }
  var transforms: ValueTransforms { cache.reader.transforms }

  /// Stores a value; see ``LMDBCache/set(_:forKey:expiresIn:cost:)``. It is archived at once. One that cannot be
  /// makes ``LMDBCache/write(waitsForCommit:_:)`` throw.
  public mutating func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) {
    set(value, forKey: key, expires: expiresIn.map { .after($0) } ?? .never, cost: cost, tags: [])
  }

  /// Stores a value with tags; see ``LMDBCache/set(_:forKey:expires:cost:tags:)``. An expiry that is `.unchanged` makes
  /// ``LMDBCache/write(waitsForCommit:_:)`` throw: what the entry would have expired at is not known before.
  public mutating func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int? = nil, tags: [String] = []
  ) {
    do throws(CacheError) {
      let tags = try EntryTags.make(tags)
      if expires == .unchanged {
        throw CacheError(
          .invalidArgument, "A batch does not know when an entry expires that it replaces. Say when the new one does.")
      }
      let expires = try expires.nanoseconds(in: store, current: 0)
      try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
        try CacheKey.with(key) { (key) throws(CacheError) in
          var header = try store.header(for: key, format, bytes, expires: expires, cost: cost)
          header.tags = tags?.hashes
          // The header refers to them.
          try withExtendedLifetime(tags) { () throws(CacheError) in
            try store.put(key, header: header, payload: bytes, through: transforms, into: frames)
          }
        }
      }
    } catch {
      if failure == nil { failure = error }
    }
  }

  /// Removes the entry under `key`, if there is one.
  public mutating func removeValue(forKey key: String) {
    // No key is longer, so that nothing is there.
    CacheKey.with(key) { if $0.utf8.count <= DiskStore.maximumKeyLength { frames.remove($0) } }
  }

  /// Removes every entry that was stored with a tag; what the batch sets after it stays.
  public mutating func removeAll(taggedWith tag: String) { frames.removeAll(tag: EntryTags.hash(tag)) }

  /// Removes every entry; what the batch sets after it stays.
  public mutating func removeAll() { frames.removeAll(withPrefix: nil) }

  /// Removes every entry whose key starts with `prefix`.
  public mutating func removeAll(withPrefix prefix: String) {
    withUTF8Bytes(of: prefix) { if $0.count <= DiskStore.maximumKeyLength { frames.removeAll(withPrefix: $0) } }
  }
}
