extension DiskCache {
  // MARK: Many keys

  /// Returns the values under keys, in the order of the keys; `nil` where there is none, or it has expired. They are read in
  /// one transaction for every 256 keys; each value is of its own moment.
  ///
  /// - Throws: as ``value(_:forKey:)``, for the first key that cannot be read; nothing is returned then. The entries are kept.
  @inlinable
  public func values<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKeys keys: [String]
  ) throws(CacheError) -> [V?] {
    var values = [V?](repeating: nil, count: keys.count)
    try visit(keys) { (index, format, bytes) throws(CacheError) in
      values[index] = try DiskCache.decode(type, format, bytes, keys[index])
    }
    return values
  }

  /// Calls `body` with the number of each key that has a live entry, and a copy of its archived bytes, in any order.
  @usableFromInline
  func visit(
    _ keys: [String], _ body: (Int, ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> Void
  ) throws(CacheError) {
    try checkOpen()
    try store.read(keys) { (index, record) throws(CacheError) in
      try body(index, record.header.format, record.payload)
    }
  }

  /// The same on a background queue, so that the caller's executor waits for no disk.
  public nonisolated(nonsending) func values<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKeys keys: [String]
  ) async throws(CacheError) -> [V?] {
    try await Self.readers.perform(.read) { [self] () throws(CacheError) in try values(type, forKeys: keys) }
  }

  private static let readers = BackgroundQueue()

  /// See ``LMDBCache/set(_:expiresIn:)``. Throws also when the disk is full or fails.
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration? = nil
  ) throws(CacheError) {
    for (key, value) in values { try set(value, forKey: key, expiresIn: expiresIn) }
  }

  /// See ``LMDBCache/removeValues(forKeys:)``.
  public func removeValues(forKeys keys: some Sequence<String>) throws(CacheError) {
    for key in keys { try removeValue(forKey: key) }
  }
}
