import LMDB
import Platform
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
  /// Of a record that cannot be read, or that its key does not lead to: it goes first.
  var stray: Stray?

  struct Stray {
    let databaseKey: [UInt8]
    let digest: UInt64
  }
}

/// Removes entries that have expired, and the least recently used ones where a limit asks for it. On the writer thread.
final class Trimmer: Sendable {
  /// How many entries one read transaction looks at, and one write transaction removes.
  private static let scanLength = 20_000
  private static let removalLength = 1_000

  let limits: Mutex<DiskLimits>
  private let recency: RecencyTable
  private let database: EntryDatabase
  private let directory: CurrentDirectory
  private let files: ValueFileKeeper
  private let observers: StoreObservers
  private let changes: ChangeTeller
  private let clock: CacheClock
  private let writer: Writer

  init(
    _ database: EntryDatabase, _ directory: CurrentDirectory, _ files: ValueFileKeeper, _ observers: StoreObservers,
    _ changes: ChangeTeller, _ writer: Writer, _ recency: RecencyTable, limits: DiskLimits, clock: CacheClock
  ) {
    self.database = database
    self.directory = directory
    self.files = files
    self.observers = observers
    self.changes = changes
    self.writer = writer
    self.clock = clock
    self.recency = recency
    self.limits = Mutex(limits)
  }

  private var counters: DiskCounters { database.counters }

  /// Trims to the limits, if there is anything to look for.
  func trimToLimits() throws(CacheError) {
    if let goal = try goalOfLimits() { try trim(to: goal) }
  }

  private func goalOfLimits() throws(CacheError) -> TrimGoal? {
    let limits = limits.withLock { $0 }
    let metadata = try database.metadata()
    var goal = TrimGoal(count: limits.count, cost: limits.cost)
    if let age = limits.age {
      goal.lastAccess = RecordHeader.seconds(clock.now.addingClamped(-max(0, age.clampedNanoseconds)))
    }
    if limits.freeDiskSpace > 0 {
      let free = try calling("Looking at the free space of \(database.directoryName)") { () throws(SystemError) in
        try directory.value.freeSpace()
      }
      // Freed pages are used again before the file grows; value files are given back at once.
      let missing = limits.freeDiskSpace - free
      if missing > 0 { goal.cost = min(goal.cost, max(0, metadata.totalCost - missing)) }
    }
    let isNeeded =
      metadata.count > goal.count || metadata.totalCost > goal.cost || goal.lastAccess > 0 || metadata.expiring > 0
    return isNeeded ? goal : nil
  }

  /// Drops the least recently used tenth, for a map that is full. Returns whether there was anything to drop.
  func evictTenth() throws(CacheError) -> Bool {
    let count = try database.metadata().count
    if count == 0 { return false }
    // A removal takes pages too before it gives its own back, so not too many at once.
    try trim(to: TrimGoal(count: count - max(1, count / 10)), removalLength: 100)
    // What a transaction frees, the next but one can use.
    try database.transact("Trimming \(database.directoryName)") { _ in }
    return true
  }

  /// Removes expired entries, then the least recently used ones, until `goal` is reached.
  func trim(to goal: TrimGoal, removalLength: Int = Trimmer.removalLength) throws(CacheError) {
    let totalCost = try database.metadata().totalCost
    // Entries that cost nothing need not go where none costs anything.
    if goal.count == 0 || goal.cost == 0 && totalCost > 0 { return try removeEverything() }
    var candidates = try scan()
    candidates.sort {
      ($0.isExpired ? 0 : 1, $0.lastAccess, $0.stamp) < ($1.isExpired ? 0 : 1, $1.lastAccess, $1.stamp)
    }
    var count = candidates.count
    var cost = candidates.reduce(Int128(0)) { $0 + Int128($1.cost) }
    var victims = 0
    while victims < candidates.count {
      let candidate = candidates[victims]
      guard candidate.isExpired || candidate.lastAccess < goal.lastAccess || count > goal.count || cost > goal.cost
      else { break }
      count -= 1
      cost -= Int128(candidate.cost)
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
      writer.letCommitsGoFirst()
    }
    // It is done for the space.
    files.synchronizeIfAwaited()
  }

  /// Nothing may stay: whole pages at a time.
  private func removeEverything() throws(CacheError) {
    var stamp: UInt64 = 0
    var count = 0
    try database.transact("Trimming \(database.directoryName)") { (session) throws(LMDBError) in
      count = session.metadata.count
      stamp = session.metadata.lastStamp
      try session.removeAllEntries()
    }
    counters.evictions.increment(by: count)
    for observer in observers.all { observer.didRemoveAll(withPrefix: "", stamp: stamp &+ 1) }
    changes.noteRemoval(ofAll: "", stamp: stamp, lastStamp: 0)
    files.synchronizeIfAwaited()
  }

  private func remove(_ victims: ArraySlice<TrimCandidate>) throws(CacheError) {
    var removed: [TrimCandidate] = []
    try database.transact("Trimming \(database.directoryName)") { (session) throws(LMDBError) in
      removed = []
      for victim in victims {
        if let stray = victim.stray {
          try stray.databaseKey.withBytes { (key) throws(LMDBError) in
            try session.removeStray(key, digest: stray.digest)
          }
          continue
        }
        // Unless it was written anew since.
        let isRemoved = try CacheKey.with(victim.key) { (key) throws(LMDBError) in
          try database.databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
            try session.remove(databaseKey, of: nil) { $0.stamp == victim.stamp }
          }
        }
        if isRemoved { removed.append(victim) }
      }
    }
    // The memory tiers hold nothing that the disk does not.
    for observer in observers.all {
      for victim in removed { observer.didEvict(victim.key, stamp: victim.stamp) }
    }
    for victim in removed { changes.noteRemoval(victim.key, victim.stamp, victim.isExpired ? .expiry : .eviction) }
    let expired = removed.count { $0.isExpired }
    counters.expirations.increment(by: expired)
    counters.evictions.increment(by: removed.count - expired)
  }

  /// Every entry's cost and last access, the memory tiers' knowledge included.
  private func scan() throws(CacheError) -> [TrimCandidate] {
    let now = clock.now
    let observers = observers.all
    var candidates: [TrimCandidate] = []
    var resumeAfter: [UInt8]?
    var isAtEnd = false
    while !isAtEnd {
      try database.accessing("Trimming \(database.directoryName)") { () throws(LMDBError) in
        // A snapshot that lasts keeps pages from being used again: look at a part at a time.
        try database.environment.withReadTransaction { (txn) throws(LMDBError) in
          try txn.withCursor { (cursor) throws(LMDBError) in
            var position = try EntryDatabase.position(cursor, after: resumeAfter)
            var looked = 0
            while let entry = position, entry.key.first != DatabaseKey.reservedMarker, looked < Self.scanLength {
              if let found = candidate(entry, now, observers) { candidates.append(found) }
              looked += 1
              if looked == Self.scanLength { resumeAfter = Array(entry.key) }
              position = try cursor.next()
            }
            isAtEnd = looked < Self.scanLength
          }
        }
      }
      writer.letCommitsGoFirst()
    }
    return candidates
  }

  /// Returns `nil` for a record of a newer version, which is kept.
  private func candidate(
    _ entry: Cursor.Entry, _ now: Int64, _ observers: [any DiskStoreObserver]
  ) -> TrimCandidate? {
    if let header = RecordHeader(entry.value),
      let utf8 = DatabaseKey.key(ofDatabaseKey: entry.key, record: entry.value, header: header)
    {
      let key = String(decoding: utf8, as: UTF8.self)
      if key.utf8.elementsEqual(utf8), database.databaseKey.leads(utf8, to: entry.key) {
        return candidate(key, header, now, observers)
      }
    } else if entry.value.count > 4, entry.value[4] > RecordHeader.version {
      return nil
    }
    let stray = TrimCandidate.Stray(
      databaseKey: Array(entry.key), digest: RecordHeader.digest(of: entry.value))
    return TrimCandidate(key: "", stamp: 0, lastAccess: 0, cost: 0, isExpired: false, stray: stray)
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
      try database.transact("Recording accesses in \(database.directoryName)") { (session) throws(LMDBError) in
        for (key, access) in accesses[start..<end] {
          try CacheKey.with(key.string) { (key) throws(LMDBError) in try session.touch(key, lastAccess: access) }
        }
      }
      start = end
      writer.letCommitsGoFirst()
    }
  }
}
