/// Which entries have to go: those that have expired, and then those that were accessed longest ago, up to a rank. It keeps
/// 24 bytes of each entry, and no key.
struct TrimPlan {
  /// An entry's place among those that may go; the least goes first.
  struct Rank: Comparable {
    let lastAccess: UInt32
    let stamp: UInt64

    static func < (first: Rank, second: Rank) -> Bool {
      first.lastAccess != second.lastAccess ? first.lastAccess < second.lastAccess : first.stamp < second.stamp
    }
  }

  private struct Entry {
    let stamp: UInt64
    let cost: Int
    let lastAccess: UInt32

    var rank: Rank { Rank(lastAccess: lastAccess, stamp: stamp) }
  }

  private var entries: [Entry] = []
  /// How many entries go in any case, and how many others.
  private var expired = 0
  private var chosen = 0
  /// The greatest rank that goes; `nil` if no rank does.
  private var lastVictim: Rank?

  mutating func add(_ standing: TrimScan.Standing) {
    switch standing {
    case .unknown: break
    case .expired: expired += 1
    // They go before all others that a limit makes go.
    case .stray: entries.append(Entry(stamp: 0, cost: 0, lastAccess: 0))
    case .live(_, let rank, let cost):
      entries.append(Entry(stamp: rank.stamp, cost: cost, lastAccess: rank.lastAccess))
    }
  }

  /// How many entries are to go.
  var victims: Int { expired + chosen }

  /// Chooses the victims.
  mutating func choose(_ goal: TrimGoal) {
    var cost = entries.reduce(Int128(0)) { $0 + Int128($1.cost) }
    defer { entries = [] }
    if entries.count <= goal.count, cost <= goal.cost, goal.lastAccess == 0 { return }
    entries.sort { $0.rank < $1.rank }
    for entry in entries {
      let isReached =
        entries.count - chosen <= goal.count && cost <= goal.cost && entry.lastAccess >= goal.lastAccess
      if isReached && entry.rank != lastVictim { break }
      cost -= Int128(entry.cost)
      chosen += 1
      lastVictim = entry.rank
    }
  }

  func chooses(_ standing: TrimScan.Standing) -> Bool {
    switch standing {
    case .unknown: false
    case .expired: true
    case .stray: lastVictim != nil
    case .live(_, let rank, _): lastVictim.map { rank <= $0 } ?? false
    }
  }
}
