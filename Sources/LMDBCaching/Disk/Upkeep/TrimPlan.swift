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
