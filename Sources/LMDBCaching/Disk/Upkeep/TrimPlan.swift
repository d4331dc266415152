/// Which entries have to go: those that have expired, those that were accessed too long ago or cost more than all may
/// together, and then those of the least rank. It keeps 24 bytes of each entry, and no key.
///
/// The rank is the time of the last access, and a turnover for each use: for as long as an entry stays that is never
/// accessed again. So one that is used now and then outlives many that are used once, and goes all the same when it is
/// not used any more. Uses are counted once in half a turnover, as generations are in the memory tier: many within a
/// moment are one. On the four recorded loads of the benchmark, with 1 % to 30 % of the objects, a model of it misses as
/// often as LRU at worst (orm-busy, 1 %) and 27 % less at best (orm-night, 5 %). With a turnover of its own for a use, and
/// without generations, it is 5 % more at worst.
struct TrimPlan {
  /// What is known of an entry's accesses.
  struct Recency {
    let lastAccess: UInt32
    /// See ``RecordHeader/uses``.
    let uses: UInt8
    /// Of two with the same last access the older write goes first.
    let stamp: UInt64
  }

  /// An entry's place among those that may go; the least goes first.
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
  /// How many entries go in any case, and how many others.
  private var expired = 0
  private var chosen = 0
  /// Entries last accessed before this second go.
  private var oldestAccess: UInt32 = 0
  /// Entries that cost more go.
  private var greatestCost = Int.max
  /// The greatest rank that goes; `nil` if no rank does.
  private var lastVictim: Rank?
  /// How long an entry stays that is never accessed again, in seconds, as far as this trim tells; `nil` if it does not.
  private(set) var turnover: UInt32?

  mutating func add(_ standing: TrimScan.Standing) {
    switch standing {
    case .unknown: break
    case .expired, .removed: expired += 1
    // They go before all others that a limit makes go.
    case .stray: entries.append(Entry(recency: Recency(lastAccess: 0, uses: 0, stamp: 0), cost: 0))
    case .live(_, let recency, let cost):
      if recency.uses > 0 { hasUses = true }
      entries.append(Entry(recency: recency, cost: cost))
    }
  }

  /// How many entries are to go.
  var victims: Int { expired + chosen }

  /// Chooses the victims.
  ///
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

  /// The age of the first entry that would stay if only those without a use went. (If all went by their last access, those
  /// that stay for their uses would be the oldest, and make it longer and longer.)
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

  /// How many of the sorted entries have to go; at least one.
  private func victims(_ goal: TrimGoal, _ total: Int128) -> Int {
    var (end, cost) = (0, total)
    while end < entries.count, entries.count - end > goal.count || cost > goal.cost {
      cost -= Int128(entries[end].cost)
      end += 1
    }
    // Of one rank all go, or none.
    while end < entries.count, rank(entries[end].recency) == rank(entries[end - 1].recency) { end += 1 }
    return end
  }

  /// By the last access alone where the turnover is not known.
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
