// Reading and writing as one, whether the cache has a memory tier or not.

extension DiskCache {
  /// What an update knows of the entry as it was read.
  @usableFromInline
  struct UpdateBasis {
    fileprivate var condition: EntryCondition
    /// 0: never, or there is none.
    fileprivate var expires: Int64 = 0
    /// What the new entry has, too.
    fileprivate var tags: EntryTags?
    /// Whether the value may be read through the memory tier, or else with its stamp.
    @usableFromInline let isAlone: Bool
  }

  /// - Parameters:
  ///   - read: Reads the value, through the memory tier if there is one.
  ///   - change: May run several times. Returns whether the entry is to be changed.
  // Inlinable, since only the caller's module knows the type: what does the work does not need it, or less of it.
  @inlinable @discardableResult
  func update<V: Codable>(
    _ type: V.Type, forKey key: String, expires: Expiry, cost: Int?, through memory: MemoryTier?,
    reading read: () throws(CacheError) -> V?, _ change: (inout V?) throws(CacheError) -> Bool
  ) throws(CacheError) -> V? {
    while true {
      var basis = try updateBasis(key)
      var value = basis.isAlone ? try read() : try stampedValue(type, key, &basis)
      let isPresent = value != nil
      if isPresent { try note(expires, key, memory, &basis) }
      if try !change(&value) { return nil }
      if let value {
        if try put(value, key, expires: expires, cost: cost, through: memory, if: basis) { return value }
      } else {
        guard isPresent else { return nil }
        if try remove(key, through: memory, if: basis) { return nil }
      }
    }
  }

  /// The same with somebody else's closure, which may throw anything.
  @inlinable
  func update<V: Codable>(
    _ type: V.Type, forKey key: String, expires: Expiry, cost: Int?, through memory: MemoryTier?,
    reading read: () throws(CacheError) -> V?, rethrowing change: (inout V?) throws -> Void
  ) throws -> V? {
    var failure: (any Error)?
    let value = try update(
      type, forKey: key, expires: expires, cost: cost, through: memory, reading: read
    ) { (value) throws(CacheError) -> Bool in
      do {
        try change(&value)
        return true
      } catch {
        failure = error
        return false
      }
    }
    if let failure { throw failure }
    return value
  }

  @usableFromInline
  func updateBasis(_ key: String) throws(CacheError) -> UpdateBasis {
    let condition = try condition(key)
    return UpdateBasis(condition: condition ?? .stamp(0), isAlone: condition != nil)
  }

  /// Reads a value past the memory tier, with its stamp and expiry.
  @usableFromInline
  func stampedValue<V: Codable>(_ type: V.Type, _ key: String, _ basis: inout UpdateBasis) throws(CacheError) -> V? {
    var value: V?
    _ = try CacheKey.with(key) { (key) throws(CacheError) in
      try reader.read(key) { (record) throws(CacheError) in
        value = try Self.decode(type, record.header.format, record.payload, key.string)
        basis.condition = .stamp(record.header.stamp)
        basis.expires = record.header.expires
        basis.tags = record.tags
      }
    }
    return value
  }

  /// Notes when the entry expires that was read, if that is asked for, and its tags, if they are not known.
  @usableFromInline
  func note(
    _ expires: Expiry, _ key: String, _ memory: MemoryTier?, _ basis: inout UpdateBasis
  ) throws(CacheError) {
    guard basis.isAlone else { return }
    if expires == .unchanged { basis.expires = try self.expires(key, memory) }
    if store.journal.tagRemovals.areUsed { basis.tags = try tags(key, memory) }
  }

  private func tags(_ key: String, _ memory: MemoryTier?) throws(CacheError) -> EntryTags? {
    try CacheKey.with(key) { (key) throws(CacheError) in
      if let memory {
        // One look: between two the entry may go, and one that is not here is not one without tags.
        switch memory.look(up: key.string, hash: key.hash, as: ObjectIdentifier(EntryTags.self), in: store) {
        case .hit(let value), .otherType(let value):
          // The read of the value has counted.
          memory.noteNoHit()
          return value.tagMark?.tags
        case .unvalidated: memory.noteNoHit()
        case .miss, .closed: break
        }
      }
      return try store.header(key)?.tags
    }
  }

  @usableFromInline
  func put<V: Codable>(
    _ value: V, _ key: String, expires: Expiry, cost: Int?, through memory: MemoryTier?, if basis: UpdateBasis
  ) throws(CacheError) -> Bool {
    let time = try expires.nanoseconds(in: store, current: basis.expires)
    return try put(
      value, key, expires: time, cost: cost, tags: basis.tags, through: memory, if: basis.condition)
  }

  @usableFromInline
  func remove(_ key: String, through memory: MemoryTier?, if basis: UpdateBasis) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in try remove(key, through: memory, if: basis.condition) }
  }

  // MARK: The operations

  func increment(
    forKey key: String, by amount: Int, expires: Expiry, through memory: MemoryTier?,
    reading read: () throws(CacheError) -> Int?
  ) throws(CacheError) -> Int {
    let sum = try update(
      Int.self, forKey: key, expires: expires, cost: nil, through: memory, reading: read
    ) { (number) throws(CacheError) -> Bool in
      let (sum, overflow) = (number ?? 0).addingReportingOverflow(amount)
      if overflow {
        throw CacheError(
          .invalidArgument, "The number under \(quoted(key)) plus \(amount) is no Int. Nothing was changed.")
      }
      number = sum
      return true
    }
    return sum ?? 0
  }

  func exchange<V: Codable>(
    _ value: V, forKey key: String, expires: Expiry, cost: Int?, through memory: MemoryTier?,
    reading read: () throws(CacheError) -> V?
  ) throws(CacheError) -> V? {
    var old: V?
    try update(
      V.self, forKey: key, expires: expires, cost: cost, through: memory, reading: read
    ) { (found) throws(CacheError) -> Bool in
      old = found
      found = value
      return true
    }
    return old
  }

  func removeValue<V: Codable>(
    _ type: V.Type, forKey key: String, through memory: MemoryTier?, reading read: () throws(CacheError) -> V?
  ) throws(CacheError) -> V? {
    var old: V?
    try update(
      type, forKey: key, expires: .never, cost: nil, through: memory, reading: read
    ) { (found) throws(CacheError) -> Bool in
      old = found
      found = nil
      return true
    }
    return old
  }

  // MARK: The disk tier alone

  /// See ``LMDBCache/update(_:forKey:expires:cost:_:)``.
  @discardableResult @inlinable
  public func update<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expires: Expiry = .unchanged, cost: Int? = nil,
    _ change: (inout V?) throws -> Void
  ) throws -> V? {
    try update(
      type, forKey: key, expires: expires, cost: cost, through: nil,
      reading: { () throws(CacheError) in try value(type, forKey: key) }, rethrowing: change)
  }

  /// See ``LMDBCache/increment(forKey:by:expires:)``.
  @discardableResult
  public func increment(
    forKey key: String, by amount: Int = 1, expires: Expiry = .unchanged
  ) throws(CacheError) -> Int {
    try increment(forKey: key, by: amount, expires: expires, through: nil) { () throws(CacheError) in
      try value(Int.self, forKey: key)
    }
  }

  /// See ``LMDBCache/exchange(_:forKey:expires:cost:)``.
  @discardableResult
  public func exchange<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) -> V? {
    try exchange(value, forKey: key, expires: expires, cost: cost, through: nil) { () throws(CacheError) in
      try self.value(V.self, forKey: key)
    }
  }

  /// See ``LMDBCache/removeValue(_:forKey:)``.
  public func removeValue<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    try removeValue(type, forKey: key, through: nil) { () throws(CacheError) in try value(type, forKey: key) }
  }
}
