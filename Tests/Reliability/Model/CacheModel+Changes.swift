import LMDBCaching
import TestSupport

// Conditional operations and tags.

extension CacheModel {
  private func ensure(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw ModelMismatch(what()) }
  }

  /// A random expiry, and the time it means for an entry that replaces `current`.
  private func expiry(_ current: ModelEntry?) -> (Expiry, Int64?) {
    switch random.below(4) {
    case 0: return (.never, nil)
    case 1: return (.unchanged, current?.expires)
    default:
      let milliseconds = random.below(8_000) - 500
      return (.after(.milliseconds(milliseconds)), time.now + Int64(max(0, milliseconds)) * 1_000_000)
    }
  }

  /// Whether the entry reads as a number or is missing.
  private func isNumber(_ entry: ModelEntry?) -> Bool {
    switch entry?.value {
    case nil, .number: true
    default: false
    }
  }

  private func number(_ entry: ModelEntry?) -> Int? {
    if case .number(let number)? = entry?.value { number } else { nil }
  }

  /// Runs an operation that reads a number: for another value it must throw and change nothing.
  private func reading(_ key: String, _ entry: ModelEntry?, _ body: () throws -> Void) throws {
    do {
      try body()
      try ensure(isNumber(entry), "\(key.prefix(8)): read as a number, and it is none")
    } catch let error as CacheError where !isNumber(entry) {
      try ensure([.typeMismatch, .decodingFailed].contains(error.code), "\(key.prefix(8)): \(error)")
      use(key)
    }
  }

  func change() throws {
    // Reconcile evictions first, so that the expected result is known.
    try reconcile()
    let (key, cache) = (key(), either)
    let entry = live(key)
    switch random.below(9) {
    case 0: try touch(key, entry, cache)
    case 1: try setIfAbsent(key, entry, cache)
    case 2: try compareAndSet(key, entry, cache)
    case 3: try compareAndRemove(key, entry, cache)
    case 4: try update(key, entry, cache)
    case 5: try setUnchanged(key, entry, cache)
    case 6: try slide(key, entry, cache)
    default: try takeOrExchange(key, entry, cache)
    }
  }

  private func touch(_ key: String, _ entry: ModelEntry?, _ cache: LMDBCache) throws {
    let (expiry, expires) = expiry(entry)
    note("touch", String(key.prefix(8)))
    let isThere =
      random.below(3) == 0
      ? try cache.withoutMemory.touch(forKey: key, expires: expiry) : try cache.touch(forKey: key, expires: expiry)
    try ensure(isThere == (entry != nil), "a touch of \(key.prefix(8)) found \(isThere)")
    if entry != nil { entries[ModelKey(key)]?.expires = expires }
    // Rewriting a value reads it first.
    use(key)
  }

  private func setIfAbsent(_ key: String, _ entry: ModelEntry?, _ cache: LMDBCache) throws {
    let (number, tags) = (random.below(1 << 40), tags())
    let (expiry, expires) = expiry(nil)
    note("setIfAbsent", String(key.prefix(8)))
    let isStored =
      random.below(3) == 0
      ? try cache.withoutMemory.set(number, forKey: key, expires: expiry, tags: tags, if: .absent)
      : try cache.set(number, forKey: key, expires: expiry, tags: tags, if: .absent)
    try ensure(isStored == (entry == nil), "stored where nothing is, \(key.prefix(8)): \(isStored)")
    if isStored { put(key, .number(number), expires: expires, tags: Set(tags)) }
  }

  private func compareAndSet(_ key: String, _ entry: ModelEntry?, _ cache: LMDBCache) throws {
    note("compareAndSet", String(key.prefix(8)))
    guard let version = try cache.entry(forKey: key)?.version else { return try ensure(entry == nil, "no version") }
    try ensure(entry != nil, "a version of nothing")
    var (current, isOther) = (entry, false)
    if random.below(3) == 0 {
      // Every write makes a new version, even of the same value.
      try cache.set(7, forKey: key)
      put(key, .number(7), expires: nil)
      (current, isOther) = (live(key), true)
    }
    let (number, tags) = (random.below(1 << 40), tags())
    let (expiry, expires) = expiry(current)
    let isStored =
      random.below(3) == 0
      ? try cache.withoutMemory.set(number, forKey: key, expires: expiry, tags: tags, if: .version(version))
      : try cache.set(number, forKey: key, expires: expiry, tags: tags, if: .version(version))
    try ensure(isStored == !isOther, "compare and set of \(key.prefix(8)): \(isStored)")
    if isStored { put(key, .number(number), expires: expires, tags: Set(tags)) }
  }

  private func compareAndRemove(_ key: String, _ entry: ModelEntry?, _ cache: LMDBCache) throws {
    note("compareAndRemove", String(key.prefix(8)))
    guard let version = try cache.entry(forKey: key)?.version else { return try ensure(entry == nil, "no version") }
    let isOther = random.below(3) == 0
    if isOther {
      try cache.set(8, forKey: key)
      put(key, .number(8), expires: nil)
    }
    let isRemoved = try cache.removeValue(forKey: key, ifVersion: version)
    try ensure(isRemoved == !isOther, "compare and remove of \(key.prefix(8)): \(isRemoved)")
    if isRemoved { entries[ModelKey(key)] = nil }
  }

  /// A read-modify-write, which keeps the tags.
  private func update(_ key: String, _ entry: ModelEntry?, _ cache: LMDBCache) throws {
    let (expiry, expires) = expiry(entry)
    let kind = random.below(5)
    note("update", "\(key.prefix(8)) \(kind)")
    let amount = random.below(1_000)
    let present = number(entry)
    try reading(key, entry) {
      switch kind {
      case 0:
        let sum = try cache.increment(forKey: key, by: amount, expires: expiry)
        try ensure(sum == (present ?? 0) + amount, "the sum of \(key.prefix(8)) is \(sum)")
        put(key, .number(sum), expires: expires, tags: entry?.tags ?? [])
      case 1:
        try cache.update(Int.self, forKey: key, expires: expiry) { number in
          try ensure(number == present, "an update of \(key.prefix(8)) found \(String(describing: number))")
          number = nil
        }
        if entry != nil { entries[ModelKey(key)] = nil }
      case 2:
        do {
          try cache.update(Int.self, forKey: key) { number in
            number = 0
            throw CancellationError()
          }
        } catch is CancellationError {
          use(key)
        }
      default:
        let stored = try cache.withoutMemory.update(Int.self, forKey: key, expires: expiry, cost: 5) { number in
          try ensure(number == present, "an update of \(key.prefix(8)) found \(String(describing: number))")
          number = (number ?? 0) / 2 + amount
        }
        put(key, .number(stored ?? -1), expires: expires, cost: 5, tags: entry?.tags ?? [])
        try ensure(stored == (present ?? 0) / 2 + amount, "an update stored \(String(describing: stored))")
      }
    }
  }

  private func setUnchanged(_ key: String, _ entry: ModelEntry?, _ cache: LMDBCache) throws {
    let tags = tags()
    note("setUnchanged", String(key.prefix(8)))
    try cache.set("text", forKey: key, expires: .unchanged, tags: tags)
    put(key, .text("text"), expires: entry?.expires, tags: Set(tags))
  }

  /// Reading moves the expiry if it would move by more than a tenth of its length.
  private func slide(_ key: String, _ entry: ModelEntry?, _ cache: LMDBCache) throws {
    let length = Int64(random.below(9_000) + 1) * 1_000_000
    note("slide", String(key.prefix(8)))
    let lifetime = Duration.nanoseconds(length)
    try reading(key, entry) {
      let found =
        random.below(3) == 0
        ? try cache.withoutMemory.value(Int.self, forKey: key, expires: .sliding(lifetime))
        : try cache.value(Int.self, forKey: key, expires: .sliding(lifetime))
      try ensure(found == number(entry), "\(key.prefix(8)): \(String(describing: found)) by a sliding read")
      use(key)
      if let expires = entry?.expires, expires < time.now + length - length / 10 {
        entries[ModelKey(key)]?.expires = time.now + length
      }
    }
  }

  private func takeOrExchange(_ key: String, _ entry: ModelEntry?, _ cache: LMDBCache) throws {
    let (takes, onDisk, value) = (random.below(2) == 0, random.below(3) == 0, random.below(1 << 40))
    note(takes ? "take" : "exchange", String(key.prefix(8)))
    try reading(key, entry) {
      let old: Int? =
        switch (takes, onDisk) {
        case (true, true): try cache.withoutMemory.removeValue(Int.self, forKey: key)
        case (true, false): try cache.removeValue(Int.self, forKey: key)
        case (false, true): try cache.withoutMemory.exchange(value, forKey: key)
        case (false, false): try cache.exchange(value, forKey: key)
        }
      try ensure(old == number(entry), "\(key.prefix(8)) held \(String(describing: old))")
      if takes {
        // An expired entry cannot be taken, and stays until it is trimmed.
        if entry != nil { entries[ModelKey(key)] = nil }
      } else {
        put(key, .number(value), expires: nil, tags: entry?.tags ?? [])
      }
    }
  }

  // MARK: Tags

  private func tags() -> [String] { ["t", "u", "v"].filter { _ in random.below(4) == 0 } }

  func useTags() throws {
    for _ in 0..<6 {
      let (key, value, tags) = (key(), random.below(1 << 40), tags())
      note("setTagged", String(key.prefix(8)))
      let cache = either
      switch random.below(3) {
      case 0: try cache.set(value, forKey: key, tags: tags)
      case 1: try cache.withoutMemory.set(value, forKey: key, tags: tags)
      default: try cache.write { $0.set(value, forKey: key, expires: .never, tags: tags) }
      }
      put(key, .number(value), expires: nil, tags: Set(tags))
    }
    if random.below(3) == 0 { return }
    try reconcile()
    let removed = random.below(2) == 0 ? ["t"] : ["t", "u", "none"]
    note("removeTags", removed.joined(separator: " "))
    let (cache, isLive) = (either, entries.keys.map(\.self))
    if removed.count == 1 {
      try cache.removeAll(.tag(removed[0]))
    } else {
      try cache.withoutMemory.removeAll(.tags(removed))
    }
    entries = entries.filter { $0.value.tags.isDisjoint(with: removed) }
    for key in isLive where entries[key] == nil {
      let name = String(decoding: key.bytes, as: UTF8.self)
      try ensure(!cache.contains(name), "\(name.prefix(8)) is there, and its tag was removed")
    }
    // Without this sweep, upkeep would do it within a second, and counts and changes would lag. It also removes expired
    // entries and reports them; the model keeps those, unserved, until entries are counted.
    try cache.sweepTags()
    try awaitRemovals()
  }
}
