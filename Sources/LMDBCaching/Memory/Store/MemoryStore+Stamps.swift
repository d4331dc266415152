import Synchronization

extension MemoryStore {
  // An owner with stamps gives every mutation a unique, growing one. A shard keeps the latest stamp of each of 64
  // groups of keys, so that a late mutation, or a value read before a mutation, cannot replace a newer one, even if its
  // key is missing. Each mutation also advances its key's version under the shard's lock, which invalidates copies kept
  // elsewhere.

  /// The latest stamp of the key's group, taken before reading a value to `promote`; `nil` once closed.
  @inlinable
  package func token(hash: UInt64) -> UInt64? {
    guard let shard = lockShard(hash: hash) else { return nil }
    defer { shard.pointee.unlockUnchanged() }
    return stripe(shard, hash).pointee
  }

  /// Announces a mutation before its `insert` or `remove`: from now on no older value is promoted. Releases nothing and
  /// calls nothing back, so another lock may be held.
  @inlinable
  package func advanceStripe(hash: UInt64, to stamp: UInt64) {
    guard let shard = lockShard(hash: hash) else { return }
    let stripe = stripe(shard, hash)
    if stamp > stripe.pointee { stripe.pointee = stamp }
    shard.pointee.unlockUnchanged()
  }

  /// Announces a mutation that others can already read elsewhere: the entry under `key` counts as expired, and keeps
  /// its place for the `insert` that follows.
  package func announce(_ key: Key, hash: UInt64, stamp: UInt64) {
    guard let shard = lockShard(hash: hash) else { return }
    defer { shard.pointee.unlock() }
    let stripe = stripe(shard, hash)
    if stamp > stripe.pointee { stripe.pointee = stamp }
    guard let place = shard.pointee.core.find(key, hash: hash), stamps(shard, place).pointee.stamp < stamp else {
      return
    }
    shard.pointee.core.table.entries[place].hasExpiry = true
    shard.pointee.core.details(at: place).pointee.expires = Self.superseded
    versions?.advance(hash: hash)
  }

  /// Replaces the expiry of an entry with an announced change.
  @inlinable static var superseded: Int64 { .min }

  /// Stores a mutation's value, unless its group has seen a newer one: then it only removes older values.
  ///
  /// - Parameters:
  ///   - isNewest: Whether it is the newest mutation of its key; `nil` to decide by the group.
  ///   - onPlaced: Called when the value is visible, before releases; also if the store is closed.
  @inlinable
  package func insert(
    _ key: Key, hash: UInt64, value: consuming Value, cost: Int = 0, expires: Int64 = .max, stamp: UInt64,
    validated: UInt64 = 0, isNewest known: Bool? = nil, onPlaced: (() -> Void)? = nil
  ) -> MemoryOutcome {
    let tick = ticks.now
    var releases = Releases()
    guard let shard = lockShardToInsert(hash: hash) else {
      onPlaced?()
      return .closed
    }
    let stripe = stripe(shard, hash)
    var isOver = false
    let isNewest = known ?? (stamp >= stripe.pointee)
    if isNewest {
      stripe.pointee = max(stripe.pointee, stamp)
      isOver = put(
        shard, key, value, hash: hash, cost: cost, expires: expires, stamp: stamp, validated: validated, tick: tick,
        &releases)
    } else {
      removeOlder(shard, key, hash: hash, stamp: stamp, &releases)
      releases.append(Pair(key: nil, value: value))
    }
    versions?.advance(hash: hash)
    shard.pointee.unlock()
    onPlaced?()
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
    var isAllowed = stripe(shard, hash).pointee == token
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
    if moment > 0 {
      let stripe = stripe(shard, hash)
      if moment > stripe.pointee { stripe.pointee = moment }
    }
    if let place = shard.pointee.core.find(key, hash: hash), stamps(shard, place).pointee.stamp == stamp {
      take(shard, place: place, &releases)
      isFound = true
    }
    versions?.advance(hash: hash)
    shard.pointee.unlock()
    release(releases)
    return isFound
  }

  /// Records a removal, and removes older values. `onPlaced` is called as by `insert`.
  @inlinable @discardableResult
  package func remove(_ key: Key, hash: UInt64, stamp: UInt64, onPlaced: (() -> Void)? = nil) -> MemoryOutcome {
    var releases = Releases()
    guard let shard = lockShard(hash: hash) else {
      onPlaced?()
      return .closed
    }
    let stripe = stripe(shard, hash)
    if stamp > stripe.pointee { stripe.pointee = stamp }
    removeOlder(shard, key, hash: hash, stamp: stamp, &releases)
    shard.pointee.core.shrinkAfterRemoval()
    versions?.advance(hash: hash)
    shard.pointee.unlock()
    onPlaced?()
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
      if let stripes = shard.pointee.core.stripes {
        for stripe in 0..<MemoryCore<Key, Value>.stripeCount where stripes[stripe] < stamp { stripes[stripe] = stamp }
      }
      shard.pointee.unlock()
    }
  }

  /// Nanoseconds since 1970, or `nil` if it is missing. Not an access.
  package func expires(_ key: Key, hash: UInt64) -> Int64? {
    guard let shard = lockShard(hash: hash) else { return nil }
    defer { shard.pointee.unlockUnchanged() }
    guard let place = shard.pointee.core.find(key, hash: hash) else { return nil }
    return shard.pointee.core.table.entries[place].hasExpiry
      ? shard.pointee.core.details(at: place).pointee.expires : .max
  }

  // MARK: Under the lock

  @inlinable @inline(__always)
  func stripe(_ shard: UnsafeMutablePointer<Shard>, _ hash: UInt64) -> UnsafeMutablePointer<UInt64> {
    guard let stripes = shard.pointee.core.stripes else { preconditionFailure("The store was made without stamps.") }
    return stripes + shard.pointee.core.stripe(hash)
  }

  @inlinable @inline(__always)
  func stamps(_ shard: UnsafeMutablePointer<Shard>, _ place: Int) -> UnsafeMutablePointer<MemoryStamps> {
    shard.pointee.core.slabs.stamps(shard.pointee.core.table.slot(at: place))
  }

  @inlinable @inline(__always)
  func stampOf(_ shard: UnsafeMutablePointer<Shard>, _ slot: UInt32) -> UInt64 {
    shard.pointee.core.stripes == nil ? 0 : shard.pointee.core.slabs.stamps(slot).pointee.stamp
  }

  @inlinable
  func removeOlder(
    _ shard: UnsafeMutablePointer<Shard>, _ key: Key, hash: UInt64, stamp: UInt64, _ releases: inout Releases
  ) {
    guard let place = shard.pointee.core.find(key, hash: hash) else { return }
    if stampOf(shard, shard.pointee.core.table.slot(at: place)) < stamp { take(shard, place: place, &releases) }
  }
}
