package import Foundation

// Operations that are atomic across threads and processes.
//
// While the cache is open in one process only, they are entries of the journal, as sets are. Otherwise each is a
// transaction of the database that waits for earlier writes: it takes as long as a commit, and needs the disk. An
// uncommitted set of another process counts as later.

extension LMDBCache {
  // MARK: Under a condition

  /// Stores a value under `key` if `condition` holds.
  ///
  /// - Returns: Whether it was stored.
  /// - Throws: as ``set(_:forKey:expires:cost:tags:)``; `.unsupportedRecord` or `.corruptedRecord` for an unreadable
  ///   entry, which is kept. If other processes have the cache open, also `.lockTimeout` and errors of the disk
  ///   (`.storageFailed`, `.noSpace` and similar).
  @discardableResult
  public func set<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil, tags: [String] = [],
    if condition: WriteCondition
  ) throws(CacheError) -> Bool {
    let tags = try EntryTags.make(tags)
    if try isTaken(key, condition) { return false }
    return try withNewEntry(value, key, cost: cost) { (new) throws(CacheError) in
      try put(new, expires: expires, tags: tags, if: condition)
    }
  }

  /// Removes the entry under `key` if it still has a version, and returns whether it did.
  ///
  /// - Throws: as ``set(_:forKey:expires:cost:tags:if:)``.
  @discardableResult
  public func removeValue(forKey key: String, ifVersion version: EntryVersion) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in
      var isRemoved = false
      try attempting(key) { (_, condition) throws(CacheError) in
        if try store.stamp(key) != version.stamp { return true }
        isRemoved = try remove(key, if: condition ?? .stamp(version.stamp))
        return isRemoved
      }
      return isRemoved
    }
  }

  /// Changes the expiry of the entry under `key`. A long value is neither read nor written, unless it went through
  /// ``CacheConfiguration/valueTransforms``: encryption authenticates the expiry, so the value is transformed again,
  /// even if it was only compressed.
  ///
  /// - Returns: Whether the entry exists.
  /// - Throws: as ``set(_:forKey:expires:cost:tags:if:)``, and for a transformed value as ``value(_:forKey:)``.
  @discardableResult
  public func touch(forKey key: String, expires: Expiry) throws(CacheError) -> Bool {
    try touch(forKey: key, expires: expires, unlessAt: nil)
  }

  // MARK: Read and write as one

  /// Changes, creates or removes the value under `key`, atomically.
  ///
  /// - Parameters:
  ///   - expires: When the new entry expires.
  ///   - change: Receives the value, or `nil` if it is missing, and leaves the new one, or `nil` to store none. It runs
  ///     again if another thread or process has changed the entry, so it should only compute. It may use other keys of
  ///     the cache. If it throws, nothing changes.
  /// - Returns: The stored value.
  /// - Throws: as ``value(_:forKey:)`` and ``set(_:forKey:expires:cost:tags:if:)``, and any error of `change`.
  ///   `.recursiveUpdate` if `change` writes the entry itself, or waits for a thread that does.
  @discardableResult @inlinable
  public func update<V: Codable & Sendable>(
    _ type: V.Type = V.self, forKey key: String, expires: Expiry = .unchanged, cost: Int? = nil,
    _ change: (inout V?) throws -> Void
  ) throws -> V? {
    var failure: (any Error)?
    let value = try changing(type, key, expires, cost) { (value, basis) throws(CacheError) -> Bool in
      run(basis) {
        do { try change(&value) } catch { failure = error }
      }
      return failure == nil
    }
    if let failure { throw failure }
    return value
  }

  /// Adds to the integer under `key`, or to 0 if it is missing.
  ///
  /// - Parameter expires: When the entry expires.
  /// - Returns: The sum.
  /// - Throws: as ``value(_:forKey:)`` and ``set(_:forKey:expires:cost:tags:if:)``, and `.invalidArgument` on overflow.
  @discardableResult
  public func increment(
    forKey key: String, by amount: Int = 1, expires: Expiry = .unchanged
  ) throws(CacheError) -> Int {
    let sum = try changing(Int.self, key, expires, nil) { (number, _) throws(CacheError) -> Bool in
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

  /// Stores a value and returns the replaced one, or `nil`.
  ///
  /// - Throws: as ``value(_:forKey:)`` and ``set(_:forKey:expires:cost:tags:if:)``.
  @discardableResult
  public func exchange<V: Codable & Sendable>(
    _ value: V, forKey key: String, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) -> V? {
    var old: V?
    try withNewEntry(value, key, cost: cost) { (new) throws(CacheError) in
      try updating(key) { (basis) throws(CacheError) in
        old = try current(V.self, key, &basis)
        try note(expires, isPresent: old != nil, key, &basis)
        let time = try expires.nanoseconds(in: store, current: basis.expires)
        return try put(new, expires: time, tags: basis.tags, if: basis.condition)
      }
      return true
    }
    return old
  }

  /// Removes the entry under `key` and returns its value, or `nil` if it is missing. Of several callers one gets it.
  ///
  /// - Throws: as ``exchange(_:forKey:expires:cost:)``.
  public func removeValue<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws(CacheError) -> V? {
    var old: V?
    try changing(type, key, .never, nil) { (found, _) throws(CacheError) -> Bool in
      old = found
      found = nil
      return true
    }
    return old
  }
}

/// The result of a read of an entry.
package enum EntryEdit {
  case keep, remove
  case store(any NSCoding)
}

// The one path of every conditional write.

extension LMDBCache {
  /// A value that is archived once for all attempts.
  struct NewEntry {
    let value: MemoryValue?
    let key: CacheKey
    /// The expiry left open.
    let header: RecordHeader
    let draft: ValueDraft
  }

  /// The entry as an update read it.
  @usableFromInline
  struct UpdateBasis {
    fileprivate let write: ConditionalWrite
    fileprivate var condition: EntryCondition
    /// 0: never, or there is none.
    fileprivate var expires: Int64 = 0
    /// Whether the value may be read through the memory tier, or else with its stamp.
    fileprivate let isAlone: Bool

    /// The tags of the new entry, too.
    fileprivate var tags: EntryTags? { write.tags ?? nil }
  }

  // Without a generic result, whose metadata would be looked up at each call.
  @discardableResult
  func withNewEntry<V: Codable>(
    _ value: V, _ key: String, cost: Int?, _ body: (NewEntry) throws(CacheError) -> Bool
  ) throws(CacheError) -> Bool {
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in
      let memoryValue = tier == nil ? nil : TypedMemoryValue.make(value, archiveLength: bytes.count)
      return try withNewEntry(memoryValue, key, format, bytes, cost, body)
    }
  }

  func withNewEntry(
    object: any NSCoding, _ key: String, cost: Int?, _ body: (NewEntry) throws(CacheError) -> Bool
  ) throws(CacheError) -> Bool {
    if let value = object as? CacheValue { return try value.withNewEntry(in: self, key, cost: cost, body) }
    return try ObjectArchiver.withArchive(of: object, with: objectCoding) { (format, bytes) throws(CacheError) in
      let memoryValue = tier == nil ? nil : TypedMemoryValue(SharedObject(object: object))
      return try withNewEntry(memoryValue, key, format, bytes, cost, body)
    }
  }

  private func withNewEntry(
    _ value: MemoryValue?, _ key: String, _ format: ArchiveFormat, _ bytes: ByteView, _ cost: Int?,
    _ body: (NewEntry) throws(CacheError) -> Bool
  ) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try body(
        NewEntry(
          value: value, key: key, header: try store.header(for: key, format, bytes, expires: 0, cost: cost),
          draft: ValueDraft(bytes, reader.transforms)))
    }
  }

  /// Makes a conditional write: calls `attempt` until it returns `true`.
  ///
  /// - Parameter attempt: Takes the condition of the write, or `nil` if that is the stamp of the entry that it reads.
  /// - Throws: `.recursiveUpdate` in the closure of such a write of the same key.
  func attempting(
    _ key: CacheKey, _ attempt: (ConditionalWrite, EntryCondition?) throws(CacheError) -> Bool
  ) throws(CacheError) {
    try checkOpen()
    let write = try store.begin(key)
    defer { store.end(write) }
    while true {
      if try attempt(write, store.condition(write)) { return }
      try store.noteConflict(of: write)
    }
  }

  // MARK: Writing

  /// Whether the condition fails for certain, checked before archiving.
  func isTaken(_ key: String, _ condition: WriteCondition) throws(CacheError) -> Bool {
    try checkOpen()
    guard case .absent = condition else { return false }
    return try CacheKey.with(key) { (key) throws(CacheError) in
      try store.admit(.key(key.utf8))
      return try isPresent(key)
    }
  }

  func put(
    _ new: NewEntry, expires: Expiry, tags: EntryTags?, if required: WriteCondition
  ) throws(CacheError) -> Bool {
    var isStored = false
    try attempting(new.key) { (write, condition) throws(CacheError) in
      let (stamp, time): (UInt64, Int64)
      switch required {
      case .absent:
        if try isPresent(new.key) { return true }
        write.tags = .some(nil)
        (stamp, time) = (0, try expires.nanoseconds(in: store, current: 0))
      case .version(let version):
        guard let header = try store.liveHeader(new.key), header.stamp == version.stamp else { return true }
        (stamp, time) = (version.stamp, try expires.nanoseconds(in: store, current: header.expires))
      }
      isStored = try put(new, expires: time, tags: tags, if: condition ?? .stamp(stamp))
      return isStored
    }
    return isStored
  }

  /// Stores an entry with the expiry of the one it replaces.
  func replace(with new: NewEntry, _ tags: EntryTags?) throws(CacheError) {
    try attempting(new.key) { (_, condition) throws(CacheError) in
      let current = try readableHeader(new.key)
      return try put(new, expires: current?.expires ?? 0, tags: tags, if: condition ?? .stamp(current?.stamp ?? 0))
    }
  }

  func put(
    _ new: NewEntry, expires: Int64, tags: EntryTags?, if condition: EntryCondition
  ) throws(CacheError) -> Bool {
    var header = new.header
    header.expires = expires
    header.tags = tags?.hashes
    let outcome = try store.edit(new.key, .put(header, new.draft), if: condition, by: tier)
    if outcome.isRefused { return false }
    try didPut(new.value, new.key, header, tags, outcome, tells: !condition.isOfTransaction)
    return true
  }

  private func remove(_ key: CacheKey, if condition: EntryCondition) throws(CacheError) -> Bool {
    let outcome = try store.edit(key, .remove, if: condition, by: tier)
    if outcome.isRefused { return false }
    try didChange(key, outcome, tells: !condition.isOfTransaction)
    return true
  }

  // MARK: Updating

  /// - Parameter change: May run several times. Returns whether to change the entry.
  // Inlinable, since only the caller's module knows the type.
  @inlinable @discardableResult
  func changing<V: Codable>(
    _ type: V.Type, _ key: String, _ expires: Expiry, _ cost: Int?,
    _ change: (inout V?, UpdateBasis) throws(CacheError) -> Bool
  ) throws(CacheError) -> V? {
    var stored: V?
    try updating(key) { (basis) throws(CacheError) in
      var value = try current(type, key, &basis)
      let isPresent = value != nil
      try note(expires, isPresent: isPresent, key, &basis)
      stored = nil
      if try !change(&value, basis) { return true }
      stored = value
      if let value { return try put(value, key, expires: expires, cost: cost, if: basis) }
      if !isPresent { return true }
      return try remove(key, if: basis)
    }
    return stored
  }

  /// Changes an entry atomically whose value the caller reads and converts itself.
  ///
  /// - Parameter attempt: May run again, as the closure of ``update(_:forKey:expires:cost:_:)``.
  package func edit(_ key: String, expires: Expiry, _ attempt: () -> EntryEdit) throws(CacheError) {
    try updating(key) { (basis) throws(CacheError) in
      // Before the value is read: a later one is refused.
      let found = try CacheKey.with(key, store.header)
      let isExpired = found?.header.isExpired(at: store.clock.now) ?? false
      if !basis.isAlone, let found, !isExpired {
        basis.condition = .stamp(found.header.stamp)
        basis.expires = found.header.expires
        basis.write.tags = .some(found.tags)
      }
      try note(expires, isPresent: !isExpired, key, &basis)
      var edit = EntryEdit.keep
      run(basis) { edit = attempt() }
      switch edit {
      case .keep: return true
      case .remove: return try remove(key, if: basis)
      case .store(let object):
        let time = try expires.nanoseconds(in: store, current: basis.expires)
        return try withNewEntry(object: object, key, cost: nil) { (new) throws(CacheError) in
          try put(new, expires: time, tags: basis.tags, if: basis.condition)
        }
      }
    }
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

  /// The value, through the memory tier or with its stamp and expiry.
  @usableFromInline
  func current<V: Codable>(_ type: V.Type, _ key: String, _ basis: inout UpdateBasis) throws(CacheError) -> V? {
    if basis.isAlone { return try sharedValue(type, forKey: key) }
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

  /// Notes the expiry of the entry that was read, if it is needed, and its tags, if they are unknown.
  @usableFromInline
  func note(
    _ expires: Expiry, isPresent: Bool, _ key: String, _ basis: inout UpdateBasis
  ) throws(CacheError) {
    if basis.isAlone, isPresent {
      if expires == .unchanged { basis.expires = try self.expires(key) }
      if store.journal.tagRemovals.areUsed { basis.write.tags = .some(try tags(key)) }
    }
    if basis.write.tags == nil { basis.write.tags = .some(nil) }
  }

  private func tags(_ key: String) throws(CacheError) -> EntryTags? {
    try CacheKey.with(key) { (key) throws(CacheError) in
      if let tier {
        // One look: between two the entry may go, and one that is not here is not one without tags.
        switch tier.look(up: key.string, hash: key.hash, as: ObjectIdentifier(EntryTags.self), in: store) {
        case .hit(let value), .otherType(let value):
          // The read of the value has counted.
          tier.noteNoHit()
          return value.tagMark?.tags
        case .unvalidated: tier.noteNoHit()
        case .miss, .closed: break
        }
      }
      return try store.header(key)?.tags
    }
  }

  @usableFromInline
  func put<V: Codable>(
    _ value: V, _ key: String, expires: Expiry, cost: Int?, if basis: UpdateBasis
  ) throws(CacheError) -> Bool {
    let time = try expires.nanoseconds(in: store, current: basis.expires)
    return try withNewEntry(value, key, cost: cost) { (new) throws(CacheError) in
      try put(new, expires: time, tags: basis.tags, if: basis.condition)
    }
  }

  @usableFromInline
  func remove(_ key: String, if basis: UpdateBasis) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in try remove(key, if: basis.condition) }
  }

  // MARK: Expiry

  /// 0 for never.
  private func expires(_ key: String) throws(CacheError) -> Int64 {
    try CacheKey.with(key) { (key) throws(CacheError) in
      // An earlier one may be the time to reload it.
      if tier?.expires(key) == .max { return 0 }
      return try store.header(key)?.header.expires ?? 0
    }
  }

  /// The header of the live entry under `key`. Throws as ``isPresent(_:)``: an unreadable entry's expiry is unknown.
  private func readableHeader(_ key: CacheKey) throws(CacheError) -> RecordHeader? {
    while true {
      if let header = try store.liveHeader(key) { return header }
      // Only an entry written in the meantime is found; look again.
      if try reader.entry(key) == nil { return nil }
    }
  }

  /// Skips an entry that expires at `later`, in nanoseconds since 1970, or after it.
  @discardableResult
  func touch(forKey key: String, expires: Expiry, unlessAt later: Int64?) throws(CacheError) -> Bool {
    try CacheKey.with(key) { (key) throws(CacheError) in
      var isThere = true
      try attempting(key) { (_, condition) throws(CacheError) in
        guard let header = try readableHeader(key) else {
          isThere = false
          return true
        }
        if let later, header.expires == 0 || header.expires >= later { return true }
        let time = try expires.nanoseconds(in: store, current: header.expires)
        if time == header.expires { return true }
        return try touch(key, header, expires: time, if: condition)
      }
      return isThere
    }
  }

  /// A long value stays in place. A transformed one is transformed again, since encryption authenticates the expiry,
  /// and its transforms are only known where the value is.
  private func touch(
    _ key: CacheKey, _ header: RecordHeader, expires: Int64, if condition: EntryCondition?
  ) throws(CacheError) -> Bool {
    let memoryValue = tier?.value(key, stamp: header.stamp)
    let isRewritten = header.flags.contains(.transformed) || condition != nil && !header.flags.contains(.pointer)
    guard isRewritten else {
      let outcome = try store.edit(key, .touch(expires: expires), if: .stamp(header.stamp), by: tier)
      return !outcome.isRefused
    }
    guard let record = try reader.readData(key), record.header.stamp == header.stamp else { return false }
    var changed = header
    changed.move(toExpiry: expires)
    // The value is transformed and written again.
    changed.flags.subtract([.transformed, .pointer])
    return try record.payload.withBytes { (bytes) throws(CacheError) in
      try put(
        NewEntry(value: memoryValue, key: key, header: changed, draft: ValueDraft(bytes, reader.transforms)),
        expires: expires, tags: record.tags, if: condition ?? .stamp(header.stamp))
    }
  }
}
