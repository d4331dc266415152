public import LMDBCaching

/// Values in an `LMDBCache`: read from memory if they are there, still there after a crash, shared between processes.
///
/// ```swift
/// let store = try LMDBStore()
/// store.set(Weather.temperature, value: 21)
/// try store.cache.value(Double.self, forKey: Weather.temperature.stringValue)  // the same entry
/// ```
///
/// Values are `Codable`, objects that conform to `NSCoding`, or `LMDBConvertible`, and optionals of these. Each is an
/// entry of the cache under the key's name, stored as the cache itself stores it. Where there is none ``get(_:)``
/// returns the key's default; so it does where it cannot be read, which is reported and kept.
///
/// A cache may lose entries: one with limits evicts them. Give a store that must not lose anything a cache without.
/// What is set while the disk is full or fails is in memory only, and the cache's `health` says so.
///
/// Any thread may use it. A value that is not Sendable is shared between the threads that get it.
public final class LMDBStore: Store, Sendable {
  /// Where the values are.
  public let cache: LMDBCache
  let reporter = FailureReporter()

  /// A store over a cache in the user's directory for data, which no cleaner empties, without limits on the disk.
  ///
  /// - Parameter name: The cache's name; `nil` for the application's own, which is also the default cache of
  ///   `EFStorageLMDBCache`: a key of the store names the same entry there.
  /// - Throws: `CacheError`, as `LMDBCache.init(directory:configuration:)`.
  public convenience init(name: String? = nil) throws(CacheError) {
    try self.init(cache: LMDBCache(name: name ?? UserDirectory.defaultName, in: .data))
  }

  /// - Parameter cache: The cache, which the store does not close.
  public init(cache: LMDBCache) { self.cache = cache }

  /// See ``UserDefaultsStore/onFailure``.
  public var onFailure: (@Sendable (StorezFailure) -> Void)? {
    get { reporter.handler }
    set { reporter.handler = newValue }
  }

  /// Removes every entry of the cache, whoever made it. For a cache that is used for other things too there is
  /// ``removeAll(in:)``.
  public func clear() { removeAll(in: GlobalNamespace.self) }

  // MARK: For the typed functions

  func access<K: KeyType, C: EntryCodec<K.ValueType>>(_ key: K, _ codec: C.Type) -> Access<K> {
    Access(key: key, reporter: reporter) { [cache] in
      do throws(CacheError) {
        return try C.value(in: cache, key.stringValue)
      } catch {
        if error.isAboutTheEntry { throw error }
        throw StorezFailure(
          .storage, key: key.stringValue, "The cache cannot be read; \"\(key.stringValue)\" has its default value.",
          underlying: error)
      }
    }
  }

  func set<K: KeyType, C: EntryCodec<K.ValueType>>(_ key: K, _ value: K.ValueType, _ codec: C.Type) {
    _ = access(key, codec).set(value) {
      try C.archive($0, cache)
    } write: { archived in
      try write(archived, forKey: key.stringValue)
      return true
    }
  }

  func write(_ archived: ArchivedValue?, forKey key: String) throws(CacheError) {
    if let archived { try cache.set(archived, forKey: key) } else { try cache.removeValue(forKey: key) }
  }
}

extension CacheError {
  fileprivate var isAboutTheEntry: Bool {
    [.typeMismatch, .decodingFailed, .corruptedRecord, .unsupportedRecord, .missingTransform].contains(code)
  }
}
