import LMDB
import Logging
import Synchronization

/// What a trim has to reach.
struct TrimGoal: Sendable {
  var count = Int.max
  var cost = Int.max
  /// Entries last accessed before this second go.
  var lastAccess: UInt32 = 0
}

/// An entry that a trim may remove.
private struct TrimCandidate {
  let key: String
  let stamp: UInt64
  let lastAccess: UInt32
  let cost: Int
  let isExpired: Bool
}

extension DiskStore {
  /// How many entries one read transaction looks at, and one write transaction removes.
  private static let scanLength = 20_000
  private static let removalLength = 1_000

  /// Removes expired entries, then the least recently used ones, until `goal` is reached.
  func trim(to goal: TrimGoal) throws(CacheError) {
    try commitPending()
    try onWriterThread { [self] in outcome { () throws(CacheError) in try trimNow(to: goal) } }
  }

  /// The goal that keeps the limits, or nil when there is nothing to look for.
  private func goalOfLimits() throws(CacheError) -> TrimGoal? {
    let limits = limits.withLock { $0 }
    let metadata = try metadata()
    var goal = TrimGoal(count: limits.count, cost: limits.cost)
    if let age = limits.age {
      goal.lastAccess = Self.seconds(clock.now - max(0, age.clampedNanoseconds))
    }
    if limits.freeDiskSpace > 0 {
      let free = try calling("Looking at the free space of \(directory)") { () throws(SystemError) in
        try Directory.freeSpace(at: directory)
      }
      // Freed pages are used again before the file grows; value files are given back at once.
      let missing = limits.freeDiskSpace - free
      if missing > 0 { goal.cost = min(goal.cost, max(0, metadata.cost - missing)) }
    }
    let isNeeded =
      metadata.count > goal.count || metadata.cost > goal.cost || goal.lastAccess > 0 || metadata.expiring > 0
    return isNeeded ? goal : nil
  }

  /// Trims to the limits and returns when it is done.
  func trimToLimits() throws(CacheError) {
    try commitPending()
    try onWriterThread { [self] in
      outcome { () throws(CacheError) in if let goal = try goalOfLimits() { try trimNow(to: goal) } }
    }
  }

  /// The same in the background; a trim that waits already is enough.
  func enqueueTrimToLimits() {
    if isTrimQueued.exchange(true, ordering: .relaxed) { return }
    enqueueOnWriterThread { [self] in
      isTrimQueued.store(false, ordering: .relaxed)
      do throws(CacheError) {
        if let goal = try goalOfLimits() { try trimNow(to: goal) }
      } catch {
        logger.warning("cache not trimmed", metadata: ["directory": "\(directory)", "error": "\(error)"])
      }
    }
  }

  /// What is done every `autoTrimInterval`, on the writer thread.
  func enqueueMaintenance() {
    enqueueOnWriterThread { [self] in
      do throws(CacheError) {
        for observer in observers { observer.recordReads() }
        try flushRecency()
        if let goal = try goalOfLimits() { try trimNow(to: goal) }
        _ = try checkReaders()
        try sweepWatermarks()
        try sweepValueFiles()
        try recordMetrics()
      } catch {
        logger.warning("cache not maintained", metadata: ["directory": "\(directory)", "error": "\(error)"])
      }
    }
  }

  private func recordMetrics() throws(CacheError) {
    var statistics = CacheStatistics()
    counters.add(to: &statistics)
    for observer in observers { observer.add(to: &statistics) }
    let metadata = try metadata()
    metrics.record(statistics, count: metadata.count, cost: metadata.cost)
  }

  func checkReaders() throws(CacheError) -> Int {
    try trusting("Looking for dead readers of \(directory)") { () throws(LMDBError) in try environment.checkReaders() }
  }

  /// Drops the least recently used tenth, for a map that is full. On the writer thread.
  func evictTenth() throws(CacheError) -> Bool {
    let count = try metadata().count
    if count == 0 { return false }
    // A removal takes pages too before it gives its own back, so not too many at once.
    try trimNow(to: TrimGoal(count: count - max(1, count / 10)), removalLength: 100)
    // What a transaction frees, the next but one can use.
    try transact { _ in }
    return true
  }

  // MARK: On the writer thread

  private func trimNow(to goal: TrimGoal, removalLength: Int = DiskStore.removalLength) throws(CacheError) {
    let totalCost = try metadata().cost
    // Entries that cost nothing need not go where none costs anything.
    if goal.count == 0 || goal.cost == 0 && totalCost > 0 {
      // Nothing may stay: whole pages at a time.
      var stamp: UInt64 = 0
      try transact { (session) throws(LMDBError) in
        counters.evictions.increment(by: session.metadata.count)
        stamp = session.metadata.lastStamp
        try session.removeAllEntries()
      }
      for observer in observers { observer.didRemoveAll(withPrefix: "", stamp: stamp &+ 1) }
      noteRemoval(ofAll: "", stamp: stamp, lastStamp: 0)
      return synchronizeReplacedFiles()
    }
    var candidates = try scan()
    candidates.sort {
      ($0.isExpired ? 0 : 1, $0.lastAccess, $0.stamp) < ($1.isExpired ? 0 : 1, $1.lastAccess, $1.stamp)
    }
    var count = candidates.count
    var cost = candidates.reduce(0) { $0.addingSaturating($1.cost) }
    var victims = 0
    while victims < candidates.count {
      let candidate = candidates[victims]
      guard candidate.isExpired || candidate.lastAccess < goal.lastAccess || count > goal.count || cost > goal.cost
      else { break }
      count -= 1
      cost -= candidate.cost
      victims += 1
    }
    candidates.removeSubrange(victims...)
    // In the order of LMDB's keys, but for the long ones: each page is touched once.
    candidates.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    var start = 0
    while start < candidates.count {
      let end = min(start + removalLength, candidates.count)
      try remove(candidates[start..<end])
      start = end
      // Writers must not wait for a trim.
      commitIfDue()
    }
    // It is done for the space.
    synchronizeReplacedFiles()
  }

  private func remove(_ victims: ArraySlice<TrimCandidate>) throws(CacheError) {
    var removed: [TrimCandidate] = []
    try transact { (session) throws(LMDBError) in
      for victim in victims {
        // Unless it was written anew since.
        let isRemoved = try CacheKey.with(victim.key) { (key) throws(LMDBError) in
          try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
            try session.remove(databaseKey, of: nil) { $0.stamp == victim.stamp }
          }
        }
        if isRemoved { removed.append(victim) }
      }
    }
    // The memory tiers hold nothing that the disk does not.
    for observer in observers {
      for victim in removed { observer.didEvict(victim.key, stamp: victim.stamp) }
    }
    for victim in removed { noteRemoval(victim.key, victim.stamp, victim.isExpired ? .expiry : .eviction) }
    let expired = removed.count { $0.isExpired }
    counters.expirations.increment(by: expired)
    counters.evictions.increment(by: removed.count - expired)
  }

  /// Every entry's cost and last access, the memory tiers' knowledge included.
  private func scan() throws(CacheError) -> [TrimCandidate] {
    let now = clock.now
    let observers = observers
    var candidates: [TrimCandidate] = []
    var resumeAfter: [UInt8]?
    var isAtEnd = false
    while !isAtEnd {
      try trusting("Trimming \(directory)") { () throws(LMDBError) in
        // A snapshot that lasts keeps pages from being used again: look at a part at a time.
        try environment.withReadTransaction { (txn) throws(LMDBError) in
          try txn.withCursor { (cursor) throws(LMDBError) in
            var position = try Self.position(cursor, after: resumeAfter)
            var looked = 0
            while let entry = position, entry.key.first != DatabaseKey.reservedMarker, looked < Self.scanLength {
              if let header = RecordHeader(entry.value),
                let key = DatabaseKey.key(ofDatabaseKey: entry.key, record: entry.value, header: header)
              {
                candidates.append(candidate(String(decoding: key, as: UTF8.self), header, now, observers))
              }
              looked += 1
              if looked == Self.scanLength { resumeAfter = Array(entry.key) }
              position = try cursor.next()
            }
            isAtEnd = looked < Self.scanLength
          }
        }
      }
      commitIfDue()
    }
    return candidates
  }

  static func position(
    _ cursor: borrowing Cursor, after key: [UInt8]?
  ) throws(LMDBError) -> Cursor.Entry? {
    guard let key else { return try cursor.first() }
    return try key.withBytes { (key) throws(LMDBError) in
      guard let found = try cursor.seek(toKeyAtOrAfter: key) else { return nil }
      return found.key.elementsEqual(fast: key) ? try cursor.next() : found
    }
  }

  private func candidate(
    _ key: String, _ header: RecordHeader, _ now: Int64, _ observers: [any DiskStoreObserver]
  ) -> TrimCandidate {
    var lastAccess = header.lastAccess
    for observer in observers {
      if let access = observer.lastAccess(of: key), access > lastAccess {
        recency.note(key, recorded: lastAccess, now: access)
        lastAccess = access
      }
    }
    if let access = recency.lastAccess(of: key) { lastAccess = max(lastAccess, access) }
    return TrimCandidate(
      key: key, stamp: header.stamp, lastAccess: lastAccess, cost: header.cost, isExpired: header.isExpired(at: now))
  }

  /// Writes the noted accesses into their records.
  func flushRecency() throws(CacheError) {
    let accesses = recency.drain().sorted { $0.key.string.utf8.lexicographicallyPrecedes($1.key.string.utf8) }
    var start = 0
    while start < accesses.count {
      let end = min(start + Self.removalLength, accesses.count)
      try transact { (session) throws(LMDBError) in
        for (key, access) in accesses[start..<end] {
          try CacheKey.with(key.string) { (key) throws(LMDBError) in try session.touch(key, lastAccess: access) }
        }
      }
      start = end
      commitIfDue()
    }
  }

  private func transact(_ body: (inout WriteSession) throws(LMDBError) -> Void) throws(CacheError) {
    try trusting("Trimming \(directory)") { () throws(LMDBError) in
      var session = try beginSession()
      try body(&session)
      removeReplacedFiles(try session.commit(tracker))
      counters.commits.increment()
    }
  }
}
