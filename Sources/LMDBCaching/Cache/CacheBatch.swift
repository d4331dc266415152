/// The changes that ``LMDBCache/write(waitsForCommit:_:)`` makes as one, in the order in which they are given.
public struct CacheBatch: ~Copyable {
  let frames: BatchFrames
  /// The first failure; it makes the whole batch fail.
  private(set) var failure: CacheError?
  let store: DiskStore

  init(_ store: DiskStore, isAwaited: Bool) {
    self.store = store
    frames = BatchFrames(isAwaited: isAwaited || store.durability == .full)
  }

  /// Stores a value; see ``LMDBCache/set(_:forKey:expiresIn:cost:)``. It is archived at once. One that cannot be
  /// makes ``LMDBCache/write(waitsForCommit:_:)`` throw.
  public mutating func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) {
    do throws(CacheError) {
      try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
        try CacheKey.with(key) { (key) throws(CacheError) in
          let header = try store.header(for: key, format, bytes, expiresIn: expiresIn, cost: cost)
          try store.put(key, header: header, payload: bytes, into: frames)
        }
      }
    } catch {
      if failure == nil { failure = error }
    }
  }

  /// Removes the entry under `key`, if there is one.
  public mutating func removeValue(forKey key: String) { CacheKey.with(key) { frames.remove($0) } }

  /// Removes every entry; what the batch sets after it stays.
  public mutating func removeAll() { frames.removeAll(withPrefix: nil) }

  /// Removes every entry whose key starts with `prefix`.
  public mutating func removeAll(withPrefix prefix: String) {
    withUTF8Bytes(of: prefix) { frames.removeAll(withPrefix: $0) }
  }
}
