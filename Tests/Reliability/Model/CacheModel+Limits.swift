import LMDBCaching
import TestSupport

extension CacheModel {
  private var count: Int { cache.disk.countLimit }

  /// The sum of the costs; nil if one is unknown.
  private var cost: Int? {
    entries.values.reduce(0) { (sum: Int?, entry) in
      guard let sum, let cost = entry.cost else { return nil }
      return sum + cost
    }
  }

  /// Call after every write: once a limit is exceeded, entries may be evicted.
  func noteLimits() {
    if entries.count > count || cost.map({ $0 > cache.disk.costLimit }) ?? configuration.isLimited {
      mayHaveEvicted = true
    }
  }

  /// Runs the background trim and removes the evicted entries, which must have been allowed to go.
  func reconcile() throws {
    guard configuration.isLimited, mayHaveEvicted else { return }
    try settle(isExceeded: true)
  }

  /// Removes evicted entries from the model. The rest must be within the limits.
  private func settle(isExceeded: Bool, toCount: Int = .max) throws {
    try cache.disk.trim(to: .limits)
    entries = entries.filter { $0.value.expires.map { $0 > time.now } ?? true }
    let (limit, cost) = (min(count, toCount), cost)
    let found = try cache.entries()
    let kept = Set(found.map { ModelKey($0.key) })
    if !kept.isSubset(of: entries.keys) { throw ModelMismatch("a trim left what was not there") }
    if found.count > limit { throw ModelMismatch("\(found.count) entries, with a limit of \(limit)") }
    if found.reduce(0, { $0 + $1.cost }) > cache.disk.costLimit { throw ModelMismatch("over the limit of costs") }
    let age = cache.disk.ageLimit?.clampedNanoseconds ?? .max
    for (key, entry) in entries {
      // Accesses are recorded to the minute, and times to the second.
      let isOld = time.now - entry.written > age - 1_000_000_000
      let isUnused = age != .max && time.now - entry.used > age + 1_000_000_000
      if isUnused && kept.contains(key) { throw ModelMismatch("an entry that is too old stayed") }
      let isOver = isExceeded || entries.count > limit || cost.map { $0 > cache.disk.costLimit } ?? true
      if !isOver && !isOld && !kept.contains(key) { throw ModelMismatch("an entry went with no limit exceeded") }
    }
    entries = entries.filter { kept.contains($0.key) }
    mayHaveEvicted = false
  }

  func keepLimits() throws {
    note("keepLimits")
    try settle(isExceeded: mayHaveEvicted)
  }

  func compareCounts() throws {
    note("counts")
    try settle(isExceeded: mayHaveEvicted)
    if try cache.count != entries.count { throw ModelMismatch("\(try cache.count) entries, not \(entries.count)") }
    if let cost, try cache.totalCost != cost { throw ModelMismatch("a cost of \(try cache.totalCost), not \(cost)") }
    if !(cache.memory.count <= cache.memory.countLimit) { throw ModelMismatch("too many in memory") }
    if !(cache.memory.totalCost <= cache.memory.costLimit) { throw ModelMismatch("too much in memory") }
  }

  func trim() throws {
    note("trim")
    try compareCounts()
    let count = random.below(entries.count + 2)
    switch random.below(3) {
    case 0:
      let cost = self.cost ?? 0
      try either.trim(to: .cost(cost))
      if self.cost != nil, try cache.count != entries.count { throw ModelMismatch("a trim to what there is") }
      try settle(isExceeded: true)
    case 1:
      let seconds = random.below(300)
      try either.trim(to: .age(.seconds(seconds)))
      // Entries written since must be there.
      let kept = Set(try cache.entries().map { ModelKey($0.key) })
      for (key, entry) in entries where !kept.contains(key) {
        if time.now - entry.written < Int64(seconds - 1) * 1_000_000_000 {
          throw ModelMismatch("a trim took too much")
        }
      }
      entries = entries.filter { kept.contains($0.key) }
    default:
      try either.trim(to: .count(count))
      let kept = Set(try cache.entries().map { ModelKey($0.key) })
      if kept.count != min(count, entries.count) { throw ModelMismatch("\(kept.count) after a trim to \(count)") }
      entries = entries.filter { kept.contains($0.key) }
    }
  }
}
