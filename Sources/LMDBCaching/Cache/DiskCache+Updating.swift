package import Foundation

// Reading and writing as one, whether the cache has a memory tier or not.

/// The result of a read of an entry.
package enum EntryEdit {
  case keep, remove
  case store(any NSCoding)
}

extension LMDBCache {
  /// Changes an entry atomically whose value the caller reads and converts itself. `attempt` may run again.
  package func edit(_ key: String, expires: Expiry, _ attempt: () -> EntryEdit) throws(CacheError) {
    try diskCache.edit(key, expires: expires, through: memoryCache, attempt)
  }
}

extension DiskCache {
  /// What an update knows of the entry as it was read.
  @usableFromInline
  struct UpdateBasis {
    fileprivate let write: ConditionalWrite
    fileprivate var condition: EntryCondition
    /// 0: never, or there is none.
    fileprivate var expires: Int64 = 0
    /// Whether the value may be read through the memory tier, or else with its stamp.
    @usableFromInline let isAlone: Bool

    /// What the new entry has, too.
    fileprivate var tags: EntryTags? { write.tags ?? nil }
  }

  /// - Parameters:
  ///   - read: Reads the value, through the memory tier if there is one.
  ///   - change: May run several times. Returns whether the entry is to be changed.
  // Inlinable, since only the caller's module knows the type: what does the work does not need it, or less of it.
  @inlinable @discardableResult
  func update<V: Codable>(
    _ type: V.Type, forKey key: String, expires: Expiry, cost: Int?, through memory: MemoryTier?,
    reading read: () throws(CacheError) -> V?, _ change: (inout V?, UpdateBasis) throws(CacheError) -> Bool
  ) throws(CacheError) -> V? {
    var stored: V?
    try updating(key) { (basis) throws(CacheError) in
      var value = basis.isAlone ? try read() : try stampedValue(type, key, &basis)
      let isPresent = value != nil
      try note(expires, isPresent: isPresent, key, memory, &basis)
      stored = nil
      if try !change(&value, basis) { return true }
      stored = value
      if let value { return try put(value, key, expires: expires, cost: cost, through: memory, if: basis) }
      if !isPresent { return true }
      return try remove(key, through: memory, if: basis)
    }
    return stored
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
    ) { (value, basis) throws(CacheError) -> Bool in
      run(basis) {
        do { try change(&value) } catch { failure = error }
      }
      return failure == nil
    }
    if let failure { throw failure }
    return value
  }

  /// Calls `attempt` until it returns `true`.
  @usableFromInline
  func updating(_ key: String, _ attempt: (inout UpdateBasis) throws(CacheError) -> Bool) throws(CacheError) {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try attempting(key) { (write, condition) throws(CacheError) in
        var basis = UpdateBasis(write: write, condition: condition ?? .stamp(0), isAlone: condition != nil)
        return try attempt(&basis)
      }
    }
  }

  /// Runs the caller's closure, which must not change the entry itself.
  @usableFromInline
  func run(_ basis: UpdateBasis, _ closure: () -> Void) { store.observers.conditional.run(basis.write, closure) }

  /// Reads a value past the memory tier, with its stamp and expiry.
  @usableFromInline
  func stampedValue<V: Codable>(_ type: V.Type, _ key: String, _ basis: inout UpdateBasis) throws(CacheError) -> V? {
    var value: V?
    _ = try CacheKey.with(key) { (key) throws(CacheError) in
      try reader.read(key) { (record) throws(CacheError) in
        value = try Self.decode(type, record.header.format, record.payload, key.string)
        basis.condition = .stamp(record.header.stamp)
        basis.expires = record.header.expires
        basis.write.tags = .some(record.tags)
      }
    }
    return value
  }

  /// Notes when the entry expires that was read, if that is asked for, and its tags, if they are not known.
  @usableFromInline
  func note(
    _ expires: Expiry, isPresent: Bool, _ key: String, _ memory: MemoryTier?, _ basis: inout UpdateBasis
  ) throws(CacheError) {
    if basis.isAlone, isPresent {
      if expires == .unchanged { basis.expires = try self.expires(key, memory) }
      if store.journal.tagRemovals.areUsed { basis.write.tags = .some(try tags(key, memory)) }
    }
    if basis.write.tags == nil { basis.write.tags = .some(nil) }
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
    return try withNewEntry(value, key, cost: cost, through: memory) { (new) throws(CacheError) in
      try put(new, expires: time, tags: basis.tags, through: memory, if: basis.condition)
    }
  }

  /// Changes an entry whose value the caller reads and converts itself.
  ///
  /// - Parameter attempt: As the closure of ``LMDBCache/update(_:forKey:expires:cost:_:)``, may run again.
  func edit(
    _ key: String, expires: Expiry, through memory: MemoryTier?, _ attempt: () -> EntryEdit
  ) throws(CacheError) {
    try updating(key) { (basis) throws(CacheError) in
      // Before the value is read: a later one is refused.
      if !basis.isAlone, let found = try CacheKey.with(key, store.header), !found.header.isExpired(at: store.clock.now)
      {
        basis.condition = .stamp(found.header.stamp)
        basis.expires = found.header.expires
        basis.write.tags = .some(found.tags)
      }
      try note(expires, isPresent: true, key, memory, &basis)
      var edit = EntryEdit.keep
      run(basis) { edit = attempt() }
      switch edit {
      case .keep: return true
      case .remove: return try remove(key, through: memory, if: basis)
      case .store(let object):
        let time = try expires.nanoseconds(in: store, current: basis.expires)
        if let value = object as? CacheValue {
          return try value.put(
            in: self, forKey: key, expires: time, tags: basis.tags, through: memory, if: basis.condition)
        }
        return try withNewEntry(object: object, key, cost: nil, through: memory) { (new) throws(CacheError) in
          try put(new, expires: time, tags: basis.tags, through: memory, if: basis.condition)
        }
      }
    }
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
    ) { (number, _) throws(CacheError) -> Bool in
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
    try withNewEntry(value, key, cost: cost, through: memory) { (new) throws(CacheError) in
      try updating(key) { (basis) throws(CacheError) in
        old = basis.isAlone ? try read() : try stampedValue(V.self, key, &basis)
        try note(expires, isPresent: old != nil, key, memory, &basis)
        let time = try expires.nanoseconds(in: store, current: basis.expires)
        return try put(new, expires: time, tags: basis.tags, through: memory, if: basis.condition)
      }
    }
    return old
  }

  func removeValue<V: Codable>(
    _ type: V.Type, forKey key: String, through memory: MemoryTier?, reading read: () throws(CacheError) -> V?
  ) throws(CacheError) -> V? {
    var old: V?
    try update(
      type, forKey: key, expires: .never, cost: nil, through: memory, reading: read
    ) { (found, _) throws(CacheError) -> Bool in
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
