import LMDB
import Platform
import Synchronization

/// Removes entries that have expired or were removed by a tag, and the least used ones beyond a limit: see
/// ``TrimPlan``. Writer thread.
// Sendable: the store is set once; the rest is constant or Sendable.
final class Trimmer: StorePart, @unchecked Sendable {
  /// Limits of one transaction, since the list of freed pages takes pages too. Commits wait for it, reads do not.
  private static let removalLength = 16_384
  private static let removalBytes = 64 << 20
  /// Accesses recorded per transaction.
  private static let recordingLength = 1_000
  /// Attempts, since chosen entries that are accessed in the meantime stay.
  private static let maximumRounds = 3

  let limits: Mutex<CacheConfiguration.Disk>
  private let recency: RecencyTable
  /// See ``RecordHeader/noteAccess(_:generation:)``: half of the turnover.
  private let generation = Atomic<UInt32>(RecencyTable.granularity)

  init(_ recency: RecencyTable, limits: CacheConfiguration.Disk) {
    self.recency = recency
    self.limits = Mutex(limits)
  }

  private var counters: DiskCounters { database.counters }

  /// Trims to the limits if necessary.
  func trimToLimits() throws(CacheError) {
    if let goal = try goalOfLimits() { try trim(to: goal) }
  }

  private func goalOfLimits() throws(CacheError) -> TrimGoal? {
    let limits = limits.withLock { $0 }
    let metadata = try database.metadata()
    var goal = TrimGoal(count: limits.countLimit, cost: limits.costLimit)
    if let age = limits.ageLimit {
      goal.lastAccess = RecordHeader.seconds(clock.now.addingClamped(-max(0, age.clampedNanoseconds)))
    }
    if limits.freeSpaceLimit > 0 {
      let free = try calling("Looking at the free space of \(database.directoryName)") {
        try store.place.directory.freeSpace()
      }
      // What is freed is used again before the files grow, and is given back soon.
      let missing = limits.freeSpaceLimit - free
      if missing > 0 {
        goal = Self.goal(goal, freeing: missing, of: try usedBytes(), count: metadata.count, cost: metadata.totalCost)
      }
    }
    let isSweepDue = try database.tagStatus().isSweepDue
    let isNeeded =
      metadata.count > goal.count || metadata.totalCost > goal.cost || goal.lastAccess > 0 || metadata.expiring > 0
      || isSweepDue
    return isNeeded ? goal : nil
  }

  /// Lowers a goal to free about `missing` bytes. Costs need not be bytes, so the same share of them goes.
  ///
  /// - Parameters:
  ///   - used: Bytes that all entries take.
  ///   - count: Number of all entries.
  ///   - cost: The sum of their costs.
  static func goal(_ goal: TrimGoal, freeing missing: Int, of used: Int, count: Int, cost: Int) -> TrimGoal {
    let used = Int128(max(1, used))
    let missing = min(Int128(missing), used)
    // Rounded down, so that something goes.
    func rest(of total: Int) -> Int { Int(Int128(total) * (used - missing) / used) }
    var goal = goal
    // If most entries cost nothing, only the others would go.
    if cost >= count {
      goal.cost = min(goal.cost, rest(of: cost))
    } else {
      goal.count = min(goal.count, rest(of: count))
    }
    return goal
  }

  /// Bytes of the database's pages in use and of the values in the log.
  private func usedBytes() throws(CacheError) -> Int {
    try database.usedBytes().addingClamped(database.valueUsage().bytes)
  }

  /// Deletes entries that were removed by a tag.
  func sweep() throws(CacheError) {
    if try database.tagStatus().isSweepDue { try trim(to: TrimGoal()) }
  }

  /// Nanoseconds for which a removal by tag is remembered. A process that was suspended for longer loses its
  /// uncommitted writes of tagged entries.
  private static let memoryOfTags: UInt64 = 3_600_000_000_000
  /// Removals forgotten per transaction.
  private static let forgettingLength = 10_000

  /// Forgets old removals by tag that were carried out.
  ///
  /// - Parameter now: A stamp of now.
  func forgetTags(now: UInt64) throws(CacheError) {
    let status = try database.tagStatus()
    let oldest = min(status.swept, now > Self.memoryOfTags ? now - Self.memoryOfTags : 0)
    guard oldest > status.forgotten, try database.tagRemovals().removals.values.contains(where: { $0 <= oldest }) else {
      return
    }
    try database.transact("Forgetting tags of \(database.directoryName)") { (session) throws(LMDBError) in
      try session.forgetTags(upTo: oldest, limit: Self.forgettingLength)
    }
  }

  /// Removes the tenth of the lowest rank, because the map is full. Returns `false` if there are no entries.
  func evictTenth() throws(CacheError) -> Bool {
    let count = try database.metadata().count
    if count == 0 { return false }
    // Few at once: a removal takes pages before it frees its own.
    try trim(to: TrimGoal(count: count - max(1, count / 10)), removalLength: 100)
    // The transaction after this one can use the freed pages.
    try database.transact("Trimming \(database.directoryName)") { _ in }
    return true
  }

  /// Removes all entries, a few at a time, because the disk is full.
  func evictAll() throws(CacheError) -> Bool {
    let count = try database.metadata().count
    try trim(to: TrimGoal(count: 0), removalLength: 100)
    return count > 0
  }

  /// Removes expired entries, then those of the lowest rank, until `goal` is reached: see ``TrimPlan``.
  ///
  /// Reads all entries twice: to find the highest rank to remove, and to find the entries up to it. So it keeps only the
  /// keys of the next transaction, which removes them in order and touches each page once.
  func trim(to goal: TrimGoal, removalLength: Int = Trimmer.removalLength) throws(CacheError) {
    let (removedTags, tags) = try database.tagRemovals()
    let totalCost = try database.metadata().totalCost
    do throws(CacheError) {
      // If no entry costs anything, none exceeds a cost.
      if removalLength == Self.removalLength, goal.count == 0 || goal.cost == 0 && totalCost > 0 {
        try removeEverything()
      } else {
        for _ in 0..<Self.maximumRounds {
          let plan = try plan(goal, removalLength, removedTags)
          if plan.victims == 0 { break }
          if try remove(plan, removalLength, goal, removedTags) >= plan.victims { break }
        }
      }
    } catch {
      guard error.isOfFullDisk, removalLength > 1 else { throw error }
      // A removal takes pages before it frees its own: fewer entries take fewer.
      store.giveReserve()
      return try trim(to: goal, removalLength: max(1, removalLength / 16))
    }
    guard tags.isSweepDue else { return }
    try database.transact("Sweeping \(database.directoryName)") { (session) throws(LMDBError) in
      try session.noteSweep(upTo: tags.last)
    }
  }

  /// Removes whole pages at a time.
  private func removeEverything() throws(CacheError) {
    var stamp: UInt64 = 0
    var count = 0
    try database.transact("Trimming \(database.directoryName)") { (session) throws(LMDBError) in
      count = session.metadata.count
      stamp = session.metadata.lastStamp
      try session.removeAllEntries()
    }
    counters.evictions.increment(by: count)
    tellEvictionOfAll(store.observers.all, stamp)
    store.feed.noteRemoval(ofAll: "", stamp: stamp, lastStamp: 0)
  }

  private func tellEvictionOfAll(_ observers: [any DiskStoreObserver], _ stamp: UInt64) {
    if observers.isEmpty { return }
    let moment = presentMoment()
    for observer in observers { observer.didEvictAll(stamp: stamp, moment: moment) }
  }

  /// A stamp by which memory tiers reject what they read earlier. Take it after the commit: until then readers find the
  /// removed entries.
  private func presentMoment() -> UInt64 {
    journal.lock.withLock { journal.state.stamps.next(clock) }
  }

  /// Lets writers go first, unless the disk is full: a commit would take the space that the trim needs, and fail.
  private func letCommitsGoFirst(_ removalLength: Int) {
    if removalLength == Self.removalLength { writer.letCommitsGoFirst() }
  }

  private func plan(
    _ goal: TrimGoal, _ removalLength: Int, _ removedTags: [UInt64: UInt64]
  ) throws(CacheError) -> TrimPlan {
    var plan = TrimPlan()
    var scan = scan(goal, removedTags)
    while try scan.next({ _, standing in plan.add(standing) }) { letCommitsGoFirst(removalLength) }
    plan.choose(goal, now: RecordHeader.seconds(clock.now))
    if let turnover = plan.turnover {
      generation.store(max(RecencyTable.granularity, turnover / 2), ordering: .relaxed)
    }
    return plan
  }

  private func scan(_ goal: TrimGoal, _ removedTags: [UInt64: UInt64]) -> TrimScan {
    TrimScan(
      database, recency, store.observers, now: clock.now, generation: generation.load(ordering: .relaxed),
      removedTags: removedTags, oldestCreation: goal.created)
  }

  /// Returns the number of removed entries. Chosen ones that were written or accessed in the meantime stay.
  private func remove(
    _ plan: TrimPlan, _ removalLength: Int, _ goal: TrimGoal, _ removedTags: [UInt64: UInt64]
  ) throws(CacheError) -> Int {
    var removed = 0
    var victims = PackedKeys()
    var scan = scan(goal, removedTags)
    var isAtEnd = false
    while !isAtEnd {
      isAtEnd = try !scan.next { entry, standing in
        if plan.chooses(standing) { victims.append(entry.keyBytes) }
      }
      if victims.count < removalLength && !isAtEnd { continue }
      var start = 0
      while start < victims.count {
        removed += try remove(victims, from: &start, plan, scan, removalLength)
        letCommitsGoFirst(removalLength)
      }
      victims.removeAll()
    }
    return removed
  }

  /// A removed entry, for observers.
  private struct Removed {
    let key: String
    let stamp: UInt64
    let cause: ChangeCause
  }

  /// Runs one transaction. Returns the number of removed entries.
  private func remove(
    _ victims: PackedKeys, from start: inout Int, _ plan: TrimPlan, _ scan: TrimScan, _ removalLength: Int
  ) throws(CacheError) -> Int {
    let isTold = store.observers.count.load(ordering: .acquiring) > 0 || store.feed.isObserved.load(ordering: .relaxed)
    var told: [Removed] = []
    var (removed, expired, untagged) = (0, 0, 0)
    var lastStamp: UInt64 = 0
    start = try database.transact("Trimming \(database.directoryName)") { [start] (session) throws(LMDBError) in
      (removed, expired, untagged, told) = (0, 0, 0, [])
      lastStamp = session.metadata.lastStamp
      return try session.remove(victims, from: start, count: removalLength, bytes: Self.removalBytes) { entry in
        let standing = scan.standing(of: entry)
        guard plan.chooses(standing) else { return false }
        removed += 1
        func tell(_ key: ByteView, _ stamp: UInt64, _ cause: ChangeCause) {
          if isTold { told.append(Removed(key: String(utf8: key), stamp: stamp, cause: cause)) }
        }
        switch standing {
        case .unknown, .stray: break
        case .expired(let key, let stamp):
          expired += 1
          tell(key, stamp, .expiry)
        case .removed(let key, let stamp):
          untagged += 1
          tell(key, stamp, .write)
        case .live(let key, let recency, _): tell(key, recency.stamp, .eviction)
        }
        return true
      }
    }
    if isTold {
      tell(told)
    } else if removed > 0 {
      // An observer that came since may have read a removed entry, and their keys are unknown.
      tellEvictionOfAll(store.observers.all, lastStamp)
      store.feed.noteUntoldRemoval()
    }
    counters.expirations.increment(by: expired)
    counters.evictions.increment(by: removed - expired - untagged)
    return removed
  }

  private func tell(_ told: [Removed]) {
    if told.isEmpty { return }
    // Includes observers that came since the transaction began.
    let observers = store.observers.all
    if !observers.isEmpty {
      let moment = presentMoment()
      for observer in observers {
        for entry in told { observer.didEvict(entry.key, stamp: entry.stamp, moment: moment) }
      }
    }
    for entry in told { store.feed.noteRemoval(entry.key, entry.stamp, entry.cause) }
  }

  /// Writes noted accesses to their records.
  func flushRecency() throws(CacheError) {
    let accesses = recency.drain().sorted { $0.key.string.utf8.lexicographicallyPrecedes($1.key.string.utf8) }
    let generation = generation.load(ordering: .relaxed)
    var start = 0
    while start < accesses.count {
      let end = min(start + Self.recordingLength, accesses.count)
      try database.transact("Recording accesses in \(database.directoryName)") { (session) throws(LMDBError) in
        for (key, access) in accesses[start..<end] {
          try CacheKey.with(key.string) { (key) throws(LMDBError) in
            try session.touch(key, lastAccess: access, generation: generation)
          }
        }
      }
      start = end
      writer.letCommitsGoFirst()
    }
  }
}

struct TrimGoal: Sendable {
  var count = Int.max
  var cost = Int.max
  /// Removes entries last accessed before this second.
  var lastAccess: UInt32 = 0
  /// Removes entries created before this second; they count as removed, not evicted.
  var created: UInt32 = 0
}
