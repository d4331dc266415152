/// The changes that ``LMDBCache/write(waitsForCommit:_:)`` makes as one, in the order in which they are given.
public struct CacheBatch: ~Copyable {
  let frames: BatchFrames
  private(set) var failure: CacheError?
  /// The whole `LMDBCache`: with its store and transforms in two properties, optimized code of Swift 6.3.1 released the
  /// second one twice when the initializer took them out of the cache for this noncopyable structure.
  private let cache: LMDBCache

  init(_ cache: LMDBCache, isAwaited: Bool) {
    self.cache = cache
    frames = BatchFrames(isAwaited: isAwaited || cache.store.durability == .full)
  }

  var store: DiskStore { cache.store }
  var transforms: ValueTransforms { cache.reader.transforms }

  /// Archives and adds a value. If that fails, or for the expiry `.unchanged`, which a batch does not support,
  /// ``LMDBCache/write(waitsForCommit:_:)`` throws.
  public mutating func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = []
  ) {
    do throws(CacheError) {
      let tags = try EntryTags.make(tags)
      if case .unchanged = expires.kind {
        throw CacheError(
          .invalidArgument, "A batch cannot keep the expiry of an entry that it replaces. Pass another expiry.")
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

  /// Removes the entry under `key`, if it exists.
  public mutating func removeValue(forKey key: String) {
    // Longer keys cannot exist.
    CacheKey.with(key) { if $0.utf8.count <= DiskStore.maximumKeyLength { frames.remove($0) } }
  }

  /// Removes entries, except those that this batch sets later. ``LMDBCache/write(waitsForCommit:_:)`` throws for
  /// ``CacheSelection/createdBefore(_:)``, which a batch does not support.
  public mutating func removeAll(_ selection: CacheSelection = .all) {
    switch selection {
    case .all: frames.removeAll(withPrefix: nil)
    case .prefix(let prefix):
      withUTF8Bytes(of: prefix) { if $0.count <= DiskStore.maximumKeyLength { frames.removeAll(withPrefix: $0) } }
    case .tag(let tag): frames.removeAll(tag: EntryTags.hash(tag))
    case .tags(let tags): for tag in tags { frames.removeAll(tag: EntryTags.hash(tag)) }
    case .keys(let keys): for key in keys { removeValue(forKey: key) }
    case .createdBefore:
      failure =
        failure
        ?? CacheError(.invalidArgument, "A batch cannot remove entries by their creation. Use LMDBCache.removeAll(_:).")
    }
  }
}

extension LMDBCache {
  /// Makes several changes as one: other readers, other processes and a crash see all of them or none.
  ///
  /// Returns when every reader of this process sees them and they survive its death, and with ``Durability/full`` when
  /// they are on the disk. Other processes see them within ``CacheConfiguration/Disk/groupCommitInterval``. A batch
  /// larger than a quarter of ``CacheConfiguration/Disk/journalSize`` is always committed before this returns.
  ///
  /// - Parameters:
  ///   - waitsForCommit: Returns when other processes see the changes, and all earlier writes, even if there are none.
  ///   - body: Collects the changes, which are made after it returns, unless it throws or a value cannot be encoded.
  /// - Throws: ``CacheError``, or any error of `body`. `.notCommitted` if the changes are made and kept, but a required
  ///   commit failed so far.
  public func write(waitsForCommit: Bool = false, _ body: (inout CacheBatch) throws -> Void) throws {
    try checkOpen()
    var batch = CacheBatch(self, isAwaited: waitsForCommit)
    try body(&batch)
    if let failure = batch.failure { throw failure }
    try store.write(batch.frames, waitsForCommit: waitsForCommit)
  }
}
