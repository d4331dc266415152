public import Foundation

extension DiskCache {
  // MARK: Many keys

  /// Returns the values under keys, in the order of the keys; `nil` for missing and expired ones. One transaction reads
  /// 256 keys; the values are not a snapshot.
  ///
  /// - Throws: as ``value(_:forKey:)``, for a key that cannot be read. The entries are kept.
  @inlinable
  public func values<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKeys keys: [String]
  ) throws(CacheError) -> [V?] {
    // Inlinable, since only the caller's module knows the type; finding the records does not need it.
    if type == Data.self { return unsafeBitCast(try dataValues(forKeys: keys), to: [V?].self) }
    var values = [V?](repeating: nil, count: keys.count)
    try visit(keys) { (index, format, bytes) throws(CacheError) in
      values[index] = try DiskCache.decode(type, format, bytes, keys[index])
    }
    return values
  }

  /// See ``LMDBCache/set(_:expiresIn:cost:)``. Throws also when the disk is full or fails.
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try set(values, expiresIn: expiresIn, cost: cost, through: nil)
  }

  /// See ``LMDBCache/removeValues(forKeys:)``.
  public func removeValues(forKeys keys: some Sequence<String>) throws(CacheError) {
    try removeValues(forKeys: keys, through: nil)
  }

  // MARK: With a memory tier or without

  func set<V: Codable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration?, cost: Int?, through memory: MemoryTier?
  ) throws(CacheError) {
    for (key, value) in values { try set(value, forKey: key, expiresIn: expiresIn, cost: cost, through: memory) }
  }

  func removeValues(forKeys keys: some Sequence<String>, through memory: MemoryTier?) throws(CacheError) {
    for key in keys { try removeValue(forKey: key, through: memory) }
  }

  // MARK: Parts that do not need the type

  /// Calls `body` with the index of each key with a live entry, and a copy of its archived bytes, in any order.
  @usableFromInline
  func visit(
    _ keys: [String], _ body: (Int, ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> Void
  ) throws(CacheError) {
    try checkOpen()
    try reader.read(keys) { (index, record, _) throws(CacheError) in
      try body(index, record.header.format, record.payload)
    }
  }

  @usableFromInline
  func dataValues(forKeys keys: [String]) throws(CacheError) -> [Data?] {
    try checkOpen()
    var values = [Data?](repeating: nil, count: keys.count)
    try reader.read(keys) { (index, record, owner) throws(CacheError) in
      let format = record.header.format
      values[index] =
        format == .bytes
        ? owner ?? Data(record.payload) : try Self.decode(Data.self, format, record.payload, keys[index])
    }
    return values
  }
}
