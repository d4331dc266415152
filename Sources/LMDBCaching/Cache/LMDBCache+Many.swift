public import Foundation

extension LMDBCache {
  // MARK: Many keys

  /// Returns the values under keys, in the order of the keys; `nil` for missing and expired ones.
  ///
  /// Faster than single calls of ``value(_:forKey:)``, because several entries are fetched at once, in memory and in
  /// the database, with one transaction for every 256 keys that are not in memory. Long values do not gain, and all
  /// values are in memory together. The values are not a snapshot; ``read(_:)`` is.
  ///
  /// - Throws: as ``value(_:forKey:)``, for a key that cannot be read. The entries are kept.
  @inlinable
  public func values<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKeys keys: [String]
  ) throws(CacheError) -> [V?] {
    var values = [V?](repeating: nil, count: keys.count)
    let missing = try memoryValues(of: ObjectIdentifier(type), forKeys: keys) { index, found in
      values[index] = unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    if missing.isEmpty { return values }
    try load(keys, missing, isData: type == Data.self) { (index, format, bytes) throws(CacheError) -> MemoryValue in
      TypedMemoryValue.make(try DiskCache.decode(type, format, bytes, keys[index]), archiveLength: bytes.count)
    } keep: { index, found in
      values[index] = unsafeDowncast(found, to: TypedMemoryValue<V>.self).value
    }
    for index in missing where values[index] == nil { values[index] = try valueAlone(type, keys[index]) }
    return values
  }

  /// Stores several values in turn with ``set(_:forKey:expiresIn:cost:)``. For all or none, use
  /// ``write(waitsForCommit:_:)``.
  ///
  /// - Parameters:
  ///   - expiresIn: How long each entry lives.
  ///   - cost: The cost of each entry.
  /// - Throws: as ``set(_:forKey:expiresIn:cost:)``, at the first failure. Earlier values stay stored.
  public func set<V: Codable & Sendable>(
    _ values: some Sequence<(key: String, value: V)>, expiresIn: Duration? = nil, cost: Int? = nil
  ) throws(CacheError) {
    try diskCache.set(values, expiresIn: expiresIn, cost: cost, through: memoryCache)
  }

  /// Removes the entries under keys, one after the other.
  public func removeValues(forKeys keys: some Sequence<String>) throws(CacheError) {
    try diskCache.removeValues(forKeys: keys, through: memoryCache)
  }

  // MARK: Parts that do not need the type

  /// Calls `body` with the index and value of each key in memory; returns the other indices.
  @usableFromInline
  func memoryValues(
    of type: ObjectIdentifier, forKeys keys: [String], _ body: (Int, MemoryValue) -> Void
  ) throws(CacheError) -> [Int] {
    // Without keys, no look-up detects a closed cache.
    if keys.isEmpty { try diskCache.checkOpen() }
    var missing: [Int] = []
    var failure: CacheError?
    let tick = memoryCache.tick
    memoryCache.withHashes(of: keys) { index, hash in
      do throws(CacheError) {
        let found = try memoryValue(of: type, forKey: keys[index], hash: hash, tick: tick, isFetched: true)
        if let found {
          body(index, found)
        } else {
          missing.append(index)
        }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return missing
  }

  /// Reads keys from the disk and keeps the values in memory, unless a key is written in the meantime.
  ///
  /// - Parameters:
  ///   - numbers: The indices of the keys to read.
  ///   - isData: Whether bytes are wanted; long ones are copied only once.
  ///   - decode: Makes the value of any other record.
  ///   - keep: Receives each value.
  @usableFromInline
  func load(
    _ keys: [String], _ numbers: [Int], isData: Bool,
    _ decode: (Int, ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> MemoryValue,
    keep: (Int, MemoryValue) -> Void
  ) throws(CacheError) {
    try diskCache.checkOpen()
    let chosen = numbers.map { keys[$0] }
    let tokens = chosen.map { key in CacheKey.with(key) { memoryCache.token($0) } }
    try diskCache.reader.read(chosen) { (place, record, owner) throws(CacheError) in
      let format = record.header.format
      let value: MemoryValue =
        isData && format == .bytes
        ? TypedMemoryValue(owner ?? Data(record.payload)) : try decode(numbers[place], format, record.payload)
      CacheKey.with(chosen[place]) { key in
        memoryCache.keep(value, key, record, token: tokens[place])
      }
      keep(numbers[place], value)
    }
  }
}
