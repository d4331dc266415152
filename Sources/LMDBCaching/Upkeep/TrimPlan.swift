import LMDB

/// Chooses the entries to remove: expired ones, those accessed too long ago or too costly, then those of the lowest
/// rank. Uses 24 bytes per entry, and no keys.
///
/// The rank is the last access plus one turnover per use, where a turnover is the lifetime of an entry that is never
/// accessed again. So an entry in regular use outlives many that are used once, but goes when its use ends. Uses are
/// counted once per half turnover, like generations in the memory tier. In a model on the benchmark's four recorded
/// loads, with room for 1 % to 30 % of the objects, it misses as often as LRU at worst (orm-busy, 1 %) and 27 % less at
/// best (orm-night, 5 %). With a separate turnover for a use, and no generations, it misses 5 % more at worst.
struct TrimPlan {
  struct Recency {
    let lastAccess: UInt32
    let uses: UInt8
    /// Of two equal last accesses, the older write goes first.
    let stamp: UInt64
  }

  /// The order of removal, lowest first.
  private struct Rank: Comparable {
    let time: UInt32
    let stamp: UInt64

    static func < (first: Rank, second: Rank) -> Bool {
      first.time != second.time ? first.time < second.time : first.stamp < second.stamp
    }
  }

  private struct Entry {
    let recency: Recency
    let cost: Int
  }

  private var entries: [Entry] = []
  private var hasUses = false
  /// The number of entries that go in any case, and of others.
  private var expired = 0
  private var chosen = 0
  /// Entries last accessed before this second go.
  private var oldestAccess: UInt32 = 0
  private var greatestCost = Int.max
  /// The highest rank that goes; `nil` if none does.
  private var lastVictim: Rank?
  /// The lifetime, in seconds, of an entry that is never accessed again; `nil` if unknown.
  private(set) var turnover: UInt32?

  mutating func add(_ standing: TrimScan.Standing) {
    switch standing {
    case .unknown: break
    case .expired, .removed: expired += 1
    // They go before all others that a limit removes.
    case .stray: entries.append(Entry(recency: Recency(lastAccess: 0, uses: 0, stamp: 0), cost: 0))
    case .live(_, let recency, let cost):
      if recency.uses > 0 { hasUses = true }
      entries.append(Entry(recency: recency, cost: cost))
    }
  }

  var victims: Int { expired + chosen }

  /// - Parameter now: Seconds since 1970.
  mutating func choose(_ goal: TrimGoal, now: UInt32) {
    defer { entries = [] }
    oldestAccess = goal.lastAccess
    greatestCost = goal.cost
    let count = entries.count
    entries.removeAll { $0.recency.lastAccess < goal.lastAccess || $0.cost > goal.cost }
    chosen = count - entries.count
    let cost = entries.reduce(Int128(0)) { $0 + Int128($1.cost) }
    if entries.count <= goal.count, cost <= goal.cost { return }
    sort()
    turnover = turnover(goal, cost, now)
    if hasUses, turnover != nil { sort() }
    let end = victims(goal, cost)
    chosen += end
    lastVictim = rank(entries[end - 1].recency)
  }

  private mutating func sort() {
    entries.sort { [turnover] in Self.rank($0.recency, turnover) < Self.rank($1.recency, turnover) }
  }

  /// The age of the first entry to stay if only unused ones went. Ordering all by last access would let entries that
  /// stay for their uses inflate it.
  private func turnover(_ goal: TrimGoal, _ total: Int128, _ now: UInt32) -> UInt32? {
    var (gone, cost) = (0, total)
    var age: UInt32?
    for entry in entries where entry.recency.uses == 0 {
      age = now - min(now, entry.recency.lastAccess)
      if entries.count - gone <= goal.count && cost <= goal.cost { return age }
      cost -= Int128(entry.cost)
      gone += 1
    }
    return gone < entries.count ? age : nil
  }

  /// The number of sorted entries to remove; at least one.
  private func victims(_ goal: TrimGoal, _ total: Int128) -> Int {
    var (end, cost) = (0, total)
    while end < entries.count, entries.count - end > goal.count || cost > goal.cost {
      cost -= Int128(entries[end].cost)
      end += 1
    }
    // Entries of equal rank go together.
    while end < entries.count, rank(entries[end].recency) == rank(entries[end - 1].recency) { end += 1 }
    return end
  }

  /// Uses only the last access if the turnover is unknown.
  private func rank(_ recency: Recency) -> Rank { Self.rank(recency, turnover) }

  private static func rank(_ recency: Recency, _ turnover: UInt32?) -> Rank {
    let lift = UInt64(recency.uses) * UInt64(turnover ?? 0)
    return Rank(time: UInt32(clamping: UInt64(recency.lastAccess) + lift), stamp: recency.stamp)
  }

  func chooses(_ standing: TrimScan.Standing) -> Bool {
    switch standing {
    case .unknown: false
    case .expired, .removed: true
    case .stray: chosen > 0
    case .live(_, let recency, let cost):
      recency.lastAccess < oldestAccess || cost > greatestCost || lastVictim.map { rank(recency) <= $0 } ?? false
    }
  }
}

/// Scans all entries for a trim, in LMDB key order.
struct TrimScan {
  /// A trim's classification of an entry; the key is valid as long as the entry.
  enum Standing {
    /// Written by a newer version, and kept.
    case unknown
    /// A record that is unreadable, or stored under the wrong key.
    case stray
    case expired(key: ByteView, stamp: UInt64)
    /// Removed by tag, or created too early.
    case removed(key: ByteView, stamp: UInt64)
    case live(key: ByteView, TrimPlan.Recency, cost: Int)
  }

  /// Entries per read transaction: a long snapshot keeps pages from being reused.
  private static let length = 20_000

  private let database: EntryDatabase
  private let recency: RecencyTable
  private let observers: [any DiskStoreObserver]
  private let now: Int64
  private let generation: UInt32
  private let knowsAccesses: Bool
  /// The stamps of removals, by tag hash.
  private let removedTags: [UInt64: UInt64]
  private let oldestCreation: UInt32
  private var last: [UInt8]?

  init(
    _ database: EntryDatabase, _ recency: RecencyTable, _ observers: StoreObservers, now: Int64, generation: UInt32,
    removedTags: [UInt64: UInt64], oldestCreation: UInt32
  ) {
    self.database = database
    self.recency = recency
    self.observers = observers.all
    self.now = now
    self.generation = generation
    self.removedTags = removedTags
    self.oldestCreation = oldestCreation
    knowsAccesses = !self.observers.isEmpty || !recency.isEmpty
  }

  /// Visits the next entries. Returns whether there are more.
  mutating func next(_ body: (Cursor.Entry, Standing) -> Void) throws(CacheError) -> Bool {
    let start = last
    last = try database.reading("Trimming \(database.directoryName)") { (txn) throws(LMDBError) in
      try txn.withCursor { (cursor) throws(LMDBError) -> [UInt8]? in
        var position = try EntryDatabase.position(cursor, after: start)
        var looked = 0
        while let entry = position, entry.keyBytes.first != DatabaseKey.reservedMarker {
          body(entry, standing(of: entry))
          looked += 1
          if looked == Self.length { return Array(entry.keyBytes) }
          position = try cursor.next()
        }
        return nil
      }
    }
    return last != nil
  }

  func standing(of entry: Cursor.Entry) -> Standing {
    let (databaseKey, record) = (entry.keyBytes, entry.valueBytes)
    guard var header = RecordHeader(record),
      let key = DatabaseKey.key(ofDatabaseKey: databaseKey, record: record, header: header)
    else { return record.count > 4 && record[4] > RecordHeader.version ? .unknown : .stray }
    guard Self.isUTF8(key), database.databaseKey.leads(key, to: databaseKey) else { return .stray }
    if header.isOver(at: now) { return .expired(key: key, stamp: header.stamp) }
    if header.created < oldestCreation { return .removed(key: key, stamp: header.stamp) }
    if let tags = header.tags, tags.contains(where: { removedTags[$0] ?? 0 > header.stamp }) {
      return .removed(key: key, stamp: header.stamp)
    }
    if knowsAccesses { header.noteAccess(lastAccess(key, header.lastAccess), generation: generation) }
    let recency = TrimPlan.Recency(lastAccess: header.lastAccess, uses: header.uses, stamp: header.stamp)
    return .live(key: key, recency, cost: header.cost)
  }

  private static func isUTF8(_ key: ByteView) -> Bool {
    unsafe key.buffer.allSatisfy { $0 < 0x80 } || String(validating: key.buffer, as: UTF8.self) != nil
  }

  private func lastAccess(_ key: ByteView, _ recorded: UInt32) -> UInt32 {
    let key = String(utf8: key)
    var lastAccess = recorded
    for observer in observers {
      if let access = observer.lastAccess(of: key), access > lastAccess {
        recency.note(key, recorded: recorded, now: access)
        lastAccess = access
      }
    }
    return max(lastAccess, recency.lastAccess(of: key) ?? 0)
  }
}
