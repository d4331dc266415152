public import Foundation

/// The changes that ``LMDBCache/write(waitsForCommit:_:)`` makes as one, in the order in which they are given.
public struct CacheBatch: ~Copyable {
  let frames: BatchFrames
  private(set) var failure: CacheError?
  /// The whole `DiskCache`: with its store and transforms in two properties, optimized code of Swift 6.3.1 released the
  /// second one twice when the initializer took them out of the cache for this noncopyable structure.
  private let cache: DiskCache

  init(_ cache: DiskCache, isAwaited: Bool) {
    self.cache = cache
    frames = BatchFrames(isAwaited: isAwaited || cache.store.durability == .full)
  }

  var store: DiskStore { cache.store }
  var transforms: ValueTransforms { cache.reader.transforms }

  /// Archives and adds a value. If that fails, ``LMDBCache/write(waitsForCommit:_:)`` throws.
  public mutating func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expiresIn: Duration? = nil, cost: Int? = nil
  ) {
    set(value, forKey: key, expires: expiresIn.map { .after($0) } ?? .never, cost: cost, tags: [])
  }

  /// Archives and adds a value with tags. ``LMDBCache/write(waitsForCommit:_:)`` throws for the expiry `.unchanged`,
  /// which a batch does not support.
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

  public mutating func removeValue(forKey key: String) {
    // Longer keys cannot exist.
    CacheKey.with(key) { if $0.utf8.count <= DiskStore.maximumKeyLength { frames.remove($0) } }
  }

  /// Removes every entry stored with a tag, except those that this batch sets later.
  public mutating func removeAll(taggedWith tag: String) { frames.removeAll(tag: EntryTags.hash(tag)) }

  /// Removes every entry, except those that this batch sets later.
  public mutating func removeAll() { frames.removeAll(withPrefix: nil) }

  /// Removes every entry whose key starts with `prefix`.
  public mutating func removeAll(withPrefix prefix: String) {
    withUTF8Bytes(of: prefix) { if $0.count <= DiskStore.maximumKeyLength { frames.removeAll(withPrefix: $0) } }
  }
}

/// When an entry expires. From then on it counts as missing.
public struct Expiry: Sendable, Equatable {
  enum Kind: Equatable {
    case never
    case after(Duration)
    case at(Date)
    case unchanged
  }

  let kind: Kind

  /// Never.
  public static let never = Expiry(kind: .never)
  /// The current expiry of the entry under the key; never for a new one.
  public static let unchanged = Expiry(kind: .unchanged)

  /// A duration after the write; zero or less: at once.
  public static func after(_ duration: Duration) -> Expiry { Expiry(kind: .after(duration)) }

  /// A wall-clock time. A date that is not a number is refused with `.invalidArgument`.
  public static func at(_ date: Date) -> Expiry { Expiry(kind: .at(date)) }

  /// Nanoseconds since 1970, 0 for never, as is `current`, the present entry's expiry.
  func nanoseconds(in store: DiskStore, current: @autoclosure () throws(CacheError) -> Int64) throws(CacheError)
    -> Int64
  {
    switch kind {
    case .never: 0
    case .after(let duration): store.expiry(after: duration)
    case .at(let date): try Self.nanoseconds(date)
    case .unchanged: try current()
    }
  }

  private static func nanoseconds(_ date: Date) throws(CacheError) -> Int64 {
    let nanoseconds = (date.timeIntervalSince1970 * 1e9).rounded()
    if nanoseconds.isNaN {
      throw CacheError(.invalidArgument, "The time of an expiry is not a number. Use Expiry.never for what stays.")
    }
    if nanoseconds >= 9.2e18 { return .max }
    // 0 means never, and before 1970 everything has expired.
    return nanoseconds < 1 ? 1 : Int64(nanoseconds)
  }
}
