public import Synchronization

extension MemoryCache {
  // An owner with stamps gives every mutation a unique, growing one. A shard keeps the latest stamp of each of 64
  // groups of keys, so that a late mutation, or a value read before a mutation, cannot replace a newer one, even if its
  // key is missing. Each mutation also advances its key's version under the shard's lock, which invalidates copies kept
  // elsewhere.

  /// The latest stamp of the key's group, taken before reading a value to `promote`; `nil` once closed.
  @inlinable
  package func token(hash: UInt64) -> UInt64? {
    guard let shard = lockShard(hash: hash) else { return nil }
    defer { shard.pointee.unlockUnchanged() }
    return shard.pointee.core.stripe(of: hash).pointee
  }

  /// Announces a mutation that others can already read elsewhere: the entry under `key` counts as expired, and keeps
  /// its place for the `insert` that follows.
  package func announce(_ key: Key, hash: UInt64, stamp: UInt64) {
    guard let shard = lockShard(hash: hash) else { return }
    defer { shard.pointee.unlock() }
    advance(shard.pointee.core.stripe(of: hash), to: stamp)
    versions?.advance(hash: hash)
    guard let place = shard.pointee.core.find(key, hash: hash), stamps(shard, place).pointee.stamp < stamp else {
      return
    }
    shard.pointee.core.table.entry(at: place).pointee.hasExpiry = true
    shard.pointee.core.details(at: place).pointee.expires = Self.superseded
  }

  /// Replaces the expiry of an entry with an announced change.
  @inlinable static var superseded: Int64 { .min }

  /// Stores a mutation's value, unless its group has seen a newer one: then it only removes older values.
  @inlinable
  package func insert(
    _ key: Key, hash: UInt64, value: consuming Value, cost: Int = 0, expires: Int64 = .max, stamp: UInt64,
    validated: UInt64 = 0
  ) -> MemoryOutcome {
    let tick = ticks.now
    var releases = Releases()
    guard let shard = lockShardToInsert(hash: hash) else { return .closed }
    let stripe = shard.pointee.core.stripe(of: hash)
    var isOver = false
    let isNewest = stamp >= stripe.pointee
    if isNewest {
      stripe.pointee = stamp
      isOver = put(
        shard, key, value, hash: hash, cost: cost, expires: expires, stamp: stamp, validated: validated, tick: tick,
        &releases)
    } else {
      removeOlder(shard, key, hash: hash, stamp: stamp, &releases)
      releases.append(Pair(key: nil, value: value))
    }
    versions?.advance(hash: hash)
    shard.pointee.unlock()
    finish(key, hash: hash, isOver: isOver, expires: isNewest ? expires : .max, releases)
    return isNewest ? .done : .superseded
  }

  /// Stores a value read from elsewhere, unless its group has seen a mutation since `token` or a newer value is here.
  @inlinable
  package func promote(
    _ key: Key, hash: UInt64, value: consuming Value, cost: Int = 0, expires: Int64 = .max, stamp: UInt64,
    validated: UInt64 = 0, token: UInt64
  ) -> MemoryOutcome {
    let tick = ticks.now
    var releases = Releases()
    guard let shard = lockShardToInsert(hash: hash) else { return .closed }
    var isAllowed = shard.pointee.core.stripe(of: hash).pointee == token
    if isAllowed, let place = shard.pointee.core.find(key, hash: hash) {
      isAllowed = stamps(shard, place).pointee.stamp <= stamp
    }
    var isOver = false
    if isAllowed {
      isOver = put(
        shard, key, value, hash: hash, cost: cost, expires: expires, stamp: stamp, validated: validated, tick: tick,
        &releases)
    } else {
      releases.append(Pair(key: nil, value: value))
    }
    shard.pointee.unlock()
    finish(key, hash: hash, isOver: isOver, expires: isAllowed ? expires : .max, releases)
    return isAllowed ? .done : .superseded
  }

  /// Sets `validated` of the entry that `stamp` wrote; `false` if it is gone.
  @inlinable @discardableResult
  package func revalidate(_ key: Key, hash: UInt64, stamp: UInt64, validated: UInt64) -> Bool {
    guard let shard = lockShard(hash: hash) else { return false }
    defer { shard.pointee.unlock() }
    guard let place = shard.pointee.core.find(key, hash: hash) else { return false }
    let stamps = stamps(shard, place)
    guard stamps.pointee.stamp == stamp else { return false }
    stamps.pointee.validated = validated
    return true
  }

  /// Removes the entry that `stamp` wrote, without a mutation; `false` if it is gone.
  ///
  /// - Parameter moment: A stamp taken since the entry was removed elsewhere, which keeps older values from promotion.
  ///   0 if it was not removed.
  @inlinable @discardableResult
  package func discard(_ key: Key, hash: UInt64, stamp: UInt64, moment: UInt64 = 0) -> Bool {
    var releases = Releases()
    guard let shard = lockShard(hash: hash) else { return false }
    var isFound = false
    if moment > 0 { advance(shard.pointee.core.stripe(of: hash), to: moment) }
    if let place = shard.pointee.core.find(key, hash: hash), stamps(shard, place).pointee.stamp == stamp {
      take(shard, place: place, &releases)
      isFound = true
    }
    versions?.advance(hash: hash)
    shard.pointee.unlock()
    release(releases)
    return isFound
  }

  /// Records a removal, and removes older values.
  @inlinable @discardableResult
  package func remove(_ key: Key, hash: UInt64, stamp: UInt64) -> MemoryOutcome {
    var releases = Releases()
    guard let shard = lockShard(hash: hash) else { return .closed }
    advance(shard.pointee.core.stripe(of: hash), to: stamp)
    removeOlder(shard, key, hash: hash, stamp: stamp, &releases)
    shard.pointee.core.shrinkAfterRemoval()
    versions?.advance(hash: hash)
    shard.pointee.unlock()
    release(releases)
    return .done
  }

  /// Records a mutation of every key, or a removal of all entries before `stamp`.
  package func advanceAllStripes(to stamp: UInt64) {
    // Shards may be merged or split concurrently; a new shard's stripes are the latest of any shard's, so stripes never
    // go back.
    for number in 0..<Self.shardCount {
      let shard = shard(number)
      shard.pointee.lock()
      if shard.pointee.core.hasStamps {
        for number in 0..<MemoryCore<Key, Value>.stripeCount { advance(shard.pointee.core.stripe(number), to: stamp) }
      }
      shard.pointee.unlock()
    }
  }

  /// Nanoseconds since 1970, or `nil` if it is missing. Not an access.
  package func expires(_ key: Key, hash: UInt64) -> Int64? {
    guard let shard = lockShard(hash: hash) else { return nil }
    defer { shard.pointee.unlockUnchanged() }
    guard let place = shard.pointee.core.find(key, hash: hash) else { return nil }
    return shard.pointee.core.table.entry(at: place).pointee.hasExpiry
      ? shard.pointee.core.details(at: place).pointee.expires : .max
  }

  // MARK: Under the lock

  @inlinable @inline(__always)
  func advance(_ stripe: MemoryReference<UInt64>, to stamp: UInt64) {
    if stamp > stripe.pointee { stripe.pointee = stamp }
  }

  @inlinable @inline(__always)
  func stamps(_ shard: MemoryReference<Shard>, _ place: Int) -> MemoryReference<MemoryStamps> {
    shard.pointee.core.slabs.stamps(shard.pointee.core.table.slot(at: place))
  }

  @inlinable @inline(__always)
  func stampOf(_ shard: MemoryReference<Shard>, _ slot: UInt32) -> UInt64 {
    shard.pointee.core.hasStamps ? shard.pointee.core.slabs.stamps(slot).pointee.stamp : 0
  }

  @inlinable
  func removeOlder(
    _ shard: MemoryReference<Shard>, _ key: Key, hash: UInt64, stamp: UInt64, _ releases: inout Releases
  ) {
    guard let place = shard.pointee.core.find(key, hash: hash) else { return }
    if stampOf(shard, shard.pointee.core.table.slot(at: place)) < stamp { take(shard, place: place, &releases) }
  }
}

extension MemoryCache {
  /// How many look-ups are prefetched at once: about as many as the processor can have loads under way.
  @inlinable static var groupSize: Int { 16 }

  /// Calls `body` with the index and hash of each key in order, after prefetching the data for the look-up.
  @inlinable @inline(__always)
  package func withHashes(of keys: [Key], _ body: (Int, UInt64) -> Void) {
    unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.groupSize) { hashes in
      var start = 0
      while start < keys.count {
        let end = min(start &+ Self.groupSize, keys.count)
        let mask = mask.load(ordering: .relaxed)
        var hasObjects = !_isPOD(Value.self)
        prefetch(keys, start..<end)
        for index in start..<end {
          let hash = hash(of: keys[index])
          unsafe hashes[index &- start] = hash
          hasObjects = hasObjects || Self.isElsewhere(keys[index])
          prefetch(hash: hash, mask: mask)
        }
        if hasObjects, Self.isCopied, let reader = readers.enter() {
          for index in start..<end { unsafe prefetchObjects(hash: hashes[index &- start], mask: mask) }
          reader.pointee.leave()
        }
        for index in start..<end { unsafe body(index, hashes[index &- start]) }
        start = end
      }
    }
  }

  @inlinable @inline(__always)
  func prefetch(_ keys: [Key], _ range: Range<Int>) {
    guard Key.self == String.self else { return }
    unsafe keys.withUnsafeBytes { bytes in
      let base = UInt(bitPattern: bytes.baseAddress)
      for index in range {
        unsafe Self.prefetchObject(base &+ UInt(bitPattern: index &* MemoryLayout<Key>.stride &+ 8), distance: 32)
      }
    }
  }

  /// Whether the key has an out-of-line part. A string of up to 15 bytes is in place.
  @inlinable @inline(__always)
  static func isElsewhere(_ key: borrowing Key) -> Bool {
    if Key.self == String.self { return unsafe unsafeBitCast(copy key, to: String.self).utf8.count > 15 }
    return !_isPOD(Key.self)
  }

  /// Prefetches the references of the entry with a hash, if it exists. For an announced reader.
  ///
  /// The data may be inconsistent, so it is only prefetched.
  @inlinable @inline(__always)
  func prefetchObjects(hash: UInt64, mask: Int) {
    let shard = shard(number(of: hash, mask: mask))
    guard let version = shard.pointee.version.version() else { return }
    let words = shard.pointee.view.words.load(ordering: .relaxed)
    let base = shard.pointee.view.entries.load(ordering: .relaxed)
    // Both belong to one table, which stays until this reader leaves.
    guard shard.pointee.version.isCurrent(version), let found = unsafe Self.search(words, hash: hash), found.word != 0
    else {
      return
    }
    let entry = base &+ UInt(bitPattern: found.place &* MemoryLayout<Entry>.stride)
    if !_isPOD(Value.self), MemoryLayout<Value>.size == MemoryLayout<UInt>.size {
      unsafe Self.prefetchObject(entry &+ UInt(bitPattern: MemoryTable<Key, Value>.valueOffset), distance: 0)
    }
    // A string's bytes are 32 bytes behind the object that its second word points to. For a short string the word is
    // not an address, which is harmless.
    let (word, distance): (UInt, UInt) = Key.self == String.self ? (8, 32) : (0, 0)
    if !_isPOD(Key.self), MemoryLayout<Key>.size >= Int(bitPattern: word) &+ 8 {
      unsafe Self.prefetchObject(entry &+ word, distance: distance)
    }
  }

  @unsafe @inlinable @inline(__always)
  static func prefetchObject(_ place: UInt, distance: UInt) {
    let reference = unsafe UInt(truncatingIfNeeded: MemoryView.word(at: place))
    MemoryView.prefetch(reference & addressBits &+ distance)
  }

  /// The bits of a reference word that hold its address.
  @inlinable static var addressBits: UInt { 0x0000_FFFF_FFFF_FFF8 }
}

/// Counts the changes of keys, so that one comparison detects whether a copy of a value may be stale. Keys share 1,024
/// counters.
///
/// The counter advances under the lock that makes a change visible: a reader that finds it unchanged after reading the
/// value has the latest one.
@usableFromInline
package final class KeyVersions: Sendable {
  @inlinable static var groupBits: Int { 10 }
  private let table = AtomicTable(count: 1 << KeyVersions.groupBits)
  @usableFromInline let words: AtomicWords
  private let closed = Atomic<Bool>(false)

  init() { words = table.words }

  @inlinable @inline(__always)
  func word(hash: UInt64) -> MemoryReference<Atomic<UInt64>> {
    words[Int(truncatingIfNeeded: hash &>> UInt64(64 - Self.groupBits))]
  }

  @inlinable @inline(__always)
  func advance(hash: UInt64) { word(hash: hash).pointee.wrappingAdd(1, ordering: .releasing) }

  func advanceAll() {
    for group in 0..<(1 << Self.groupBits) { words[group].pointee.wrappingAdd(1, ordering: .releasing) }
  }

  var isClosed: Bool { closed.load(ordering: .acquiring) }

  /// Invalidates every copy, for good.
  func close() {
    closed.store(true, ordering: .releasing)
    advanceAll()
  }
}
