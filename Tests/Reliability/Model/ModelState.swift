import Foundation
import LMDBCaching

/// The oracle: a dictionary, and the effect and the result of each operation.
struct ModelState: Equatable {
  struct Pause: Equatable {
    var failures = 0
    /// On the monotonic clock.
    var end = Int64.min
  }

  struct Time {
    /// Nanoseconds since 1970.
    var now: Int64
    var monotonic: Int64
  }

  /// Expired entries count until they are removed.
  var entries: [ModelKey: ModelEntry] = [:]
  /// After failed loads, which each object counts for itself.
  var pauses: [ModelActor: [ModelKey: Pause]] = [:]
  var isTransforming: Bool

  func live(_ key: ModelKey, _ now: Int64) -> ModelEntry? {
    entries[key].flatMap { $0.isExpired(now) ? nil : $0 }
  }

  func live(withPrefix prefix: String = "", _ now: Int64) -> [ModelKey] {
    entries.filter { $0.key.hasPrefix(prefix) && !$0.value.isExpired(now) }.keys
      .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
  }

  var cost: Int { entries.values.reduce(0) { $0 + $1.cost } }

  // MARK: Operations

  /// Carries out an operation, except a trim, and returns its answer.
  mutating func perform(_ operation: ModelOperation, by actor: ModelActor, at time: Time) -> String {
    let now = time.now
    switch operation {
    case .set(let key, let value, let expiry, let cost, let tags):
      put(ModelKey(key), value, expiry, cost, tags, now)
    case .setSeveral(let keys, let first):
      for (index, key) in keys.enumerated() { put(ModelKey(key), .number(first + index), .never, nil, [], now) }
    case .setIfAbsent(let key, let value, let expiry, let tags):
      let key = ModelKey(key)
      if live(key, now) != nil { return "false" }
      put(key, value, expiry, ModelEntry.plainCost, tags, now)
      return "true"
    case .setIfVersion(let key, let value, let expiry, let tags, let interference):
      let key = ModelKey(key)
      guard let isChanged = interfere(key, interference, now) else { return "nothing" }
      if isChanged { return "false" }
      put(key, value, expiry, ModelEntry.plainCost, tags, now)
      return "true"
    case .removeIfVersion(let key, let interference):
      let key = ModelKey(key)
      guard let isChanged = interfere(key, interference, now) else { return "nothing" }
      if !isChanged { entries[key] = nil }
      return String(!isChanged)
    case .touch(let key, let expiry):
      let key = ModelKey(key)
      guard let entry = live(key, now) else { return "false" }
      entries[key]!.move(to: expiry.time(now, current: entry.expires))
      return "true"
    case .update, .increment, .exchange, .take: return change(operation, now)
    case .remove(let key): entries[ModelKey(key)] = nil
    case .removeAll(let selection): remove(selection, now)
    case .batch(let changes, let fails, _):
      if fails { return "failure" }
      for change in changes { _ = perform(change, by: actor, at: time) }
    case .load(let key, let load): return self.load(ModelKey(key), load, by: actor, at: time)
    case .count:
      entries = entries.filter { !$0.value.isOver(now) }
      return "\(entries.count) \(cost)"
    case .snapshot(let reads, let changes):
      let before = self
      var answers = changes.map { perform($0, by: actor, at: time) }
      answers.append(before.list("", now))
      answers += reads.map { "\(before.live(ModelKey($0.key), now) != nil) \(before.read($0, now))" }
      return ModelPerformer.words(answers)
    case .flush, .commit, .dropMemory, .limitMemory, .sweep: break
    case .trim: preconditionFailure("The cache chooses")
    default: return read(operation, now)
    }
    return "done"
  }

  private mutating func put(
    _ key: ModelKey, _ value: ModelValue, _ expiry: ModelExpiry, _ cost: Int?, _ tags: [String], _ now: Int64
  ) {
    entries[key] = ModelEntry(
      value: value, expires: expiry.time(now, current: live(key, now)?.expires),
      cost: cost ?? key.bytes.count + (value.archiveSize ?? 0), written: now, used: now, tags: Set(tags))
  }

  /// Whether the version has changed; nil without an entry.
  private mutating func interfere(_ key: ModelKey, _ interference: ModelInterference, _ now: Int64) -> Bool? {
    if live(key, now) == nil { return nil }
    switch interference {
    case .nothing, .flush: return false
    case .set:
      put(key, .number(7), .never, nil, [], now)
      return true
    case .touch:
      // A new expiry is a write of the entry.
      let before = entries[key]!.expires
      entries[key]!.move(to: now + 3_000_000_000)
      return before != entries[key]!.expires
    }
  }

  /// A read and a write as one; an entry of another type is an error, and stays.
  private mutating func change(_ operation: ModelOperation, _ now: Int64) -> String {
    let (key, expiry, cost): (ModelKey, ModelExpiry, Int?) =
      switch operation {
      case .update(let key, _, let expiry, let cost, _): (ModelKey(key), expiry, cost)
      case .increment(let key, _, let expiry): (ModelKey(key), expiry, nil)
      case .exchange(let key, _, let expiry): (ModelKey(key), expiry, nil)
      case .take(let key): (ModelKey(key), .never, nil)
      default: preconditionFailure("\(operation)")
      }
    let entry = live(key, now)
    use(key, now)
    if let entry, entry.value?.kind != .number { return "unreadable" }
    let present = entry?.value?.number
    let words = ModelPerformer.words(present)
    let new: Int?
    switch operation {
    case .update(_, .fail, _, _, _): return "failure"
    case .update(_, .remove, _, _, _), .take: new = nil
    case .update(_, .add(let amount), _, _, _), .increment(_, let amount, _): new = (present ?? 0) + amount
    case .exchange(_, let number, _): new = number
    default: preconditionFailure("\(operation)")
    }
    if let new {
      put(key, .number(new), expiry, cost, Array(entry?.tags ?? []), now)
    } else if entry != nil {
      entries[key] = nil
    }
    switch operation {
    case .exchange, .take: return words
    default: return ModelPerformer.words(new)
    }
  }

  private mutating func remove(_ selection: ModelSelection, _ now: Int64) {
    switch selection {
    case .createdBefore(let milliseconds):
      let limit = Int64(max(0, ModelSelection.date(milliseconds, now).timeIntervalSince1970))
      entries = entries.filter { $0.value.created >= limit && !$0.value.isOver(now) }
    default: entries = entries.filter { !Self.selects(selection, $0.key, $0.value.tags) }
    }
  }

  private static func selects(_ selection: ModelSelection, _ key: ModelKey, _ tags: Set<String>) -> Bool {
    switch selection {
    case .all: true
    case .prefix(let prefix): key.hasPrefix(prefix)
    case .tags(let removed): !tags.isDisjoint(with: removed)
    case .keys(let keys): keys.contains { ModelKey($0) == key }
    case .createdBefore: false
    }
  }

  // MARK: Loads

  private enum Standing {
    /// Served without a load, with one in the background, or if the load fails.
    case fresh(Int?), due(Int), fallback(Int)
    case missing
  }

  private func standing(_ key: ModelKey, _ load: ModelLoad, by actor: ModelActor, at time: Time) -> Standing {
    guard let entry = entries[key], !entry.isOver(time.now) else { return .missing }
    guard let value = entry.value else { return load.isOptional ? .fresh(nil) : .missing }
    guard value.kind == .number else { return .missing }
    let isPausing = (pauses[actor]?[key]?.end ?? .min) > time.monotonic
    guard let expires = entry.expires, expires <= time.now else {
      return entry.refresh.map { $0 <= time.now } ?? false && !isPausing ? .due(value.number) : .fresh(value.number)
    }
    if time.now < expires + Int64(load.staleWhileRevalidate) * 1_000_000 {
      return isPausing ? .fresh(value.number) : .due(value.number)
    }
    if time.now < expires + Int64(load.failSafe) * 1_000_000 {
      return isPausing ? .fresh(value.number) : .fallback(value.number)
    }
    return .missing
  }

  private mutating func load(_ key: ModelKey, _ load: ModelLoad, by actor: ModelActor, at time: Time) -> String {
    let loaded = load.outcome == .value ? load.number : nil
    let standing = standing(key, load, by: actor, at: time)
    use(key, time.now)
    switch standing {
    case .fresh(let number): return "\(ModelPerformer.words(number)) 0"
    case .due(let number):
      store(key, load, by: actor, at: time)
      return "\(ModelPerformer.words(number)) 1"
    case .fallback(let number):
      store(key, load, by: actor, at: time)
      return "\(ModelPerformer.words(load.outcome == .failure ? number : loaded)) 1"
    case .missing:
      store(key, load, by: actor, at: time)
      return load.outcome == .failure ? "failure 1" : "\(ModelPerformer.words(loaded)) 1"
    }
  }

  private mutating func store(_ key: ModelKey, _ load: ModelLoad, by actor: ModelActor, at time: Time) {
    let now = time.now
    let tags = Set(load.tags).union(entries[key]?.tags ?? [])
    // Concurrent writes stay.
    var isSuperseded = false
    if let meanwhile = load.meanwhile {
      _ = perform(meanwhile, by: actor, at: time)
      isSuperseded = Self.concerns(meanwhile, key, tags)
    }
    if load.outcome == .failure {
      var pause = pauses[actor]?[key] ?? Pause()
      if pause.end > time.monotonic { return }
      let length = Int64(load.pause) * 1_000_000 << Int64(min(pause.failures, 20))
      pause.failures += 1
      pause.end = time.monotonic + min(length, 8_000_000_000)
      pauses[actor, default: [:]][key] = pause
      return
    }
    pauses[actor]?[key] = nil
    if isSuperseded { return }
    if load.outcome == .absence {
      guard let lifetime = load.absenceLifetime else { return }
      entries[key] = ModelEntry(
        value: nil, expires: .min, kept: now + Int64(lifetime) * 1_000_000, cost: key.bytes.count, written: now,
        used: now, tags: Set(load.tags))
      return
    }
    put(key, .number(load.number), load.lifetime.map { .after($0) } ?? .never, nil, load.tags, now)
    guard let lifetime = load.lifetime, let expires = entries[key]!.expires else { return }
    let keptFor = max(load.staleWhileRevalidate, load.failSafe)
    if keptFor > 0 { entries[key]!.kept = expires + Int64(keptFor) * 1_000_000 }
    if let share = load.refreshAhead {
      let refresh = now + Int64(Double(lifetime) * 1e6 * share)
      if refresh < expires { entries[key]!.refresh = refresh }
    }
  }

  private static func concerns(_ operation: ModelOperation, _ key: ModelKey, _ tags: Set<String>) -> Bool {
    switch operation {
    case .set(let other, _, _, _, _), .remove(let other): ModelKey(other) == key
    case .removeAll(let selection): selects(selection, key, tags)
    case .batch(let changes, let fails, _): !fails && changes.contains { concerns($0, key, tags) }
    default: preconditionFailure("\(operation) in a load")
    }
  }

  // MARK: Reads

  private mutating func read(_ operation: ModelOperation, _ now: Int64) -> String {
    switch operation {
    case .get(let name, let kind, let expiry):
      let key = ModelKey(name)
      let words = read(ModelRead(key: name, kind: kind), now)
      guard let entry = live(key, now) else { return words }
      use(key, now)
      if let expiry, entry.value?.kind == kind { move(key, entry, expiry, now) }
      return words
    case .values(let keys):
      for key in keys { use(ModelKey(key), now) }
      let words = keys.map { read(ModelRead(key: $0, kind: .number), now) }
      return words.contains("unreadable") ? "unreadable" : ModelPerformer.words(words)
    case .bytes(let key):
      let key = ModelKey(key)
      guard let entry = live(key, now) else { return "nothing" }
      use(key, now)
      return "\(entry.value!.archiveSize.map(String.init) ?? "?") bytes"
    case .presence(let key):
      let key = ModelKey(key)
      return live(key, now).map { "true \(words(key, $0))" } ?? "false nothing"
    case .list(let prefix): return list(prefix, now)
    case .backUp: return list("", now)
    case .look(let reads): return ModelPerformer.words([list("", now)] + reads.map { read($0, now) })
    default: preconditionFailure("\(operation)")
    }
  }

  private func read(_ read: ModelRead, _ now: Int64) -> String {
    guard let value = live(ModelKey(read.key), now)?.value else { return "nothing" }
    return value.kind == read.kind ? value.fingerprint : "unreadable"
  }

  /// A sliding expiry moves only if that gains a tenth of its length, and never back.
  private mutating func move(_ key: ModelKey, _ entry: ModelEntry, _ expiry: ModelExpiry, _ now: Int64) {
    if case .sliding(let milliseconds) = expiry {
      let length = Int64(milliseconds) * 1_000_000
      guard let expires = entry.expires, expires < now + length - length / 10 else { return }
    }
    entries[key]!.move(to: expiry.time(now, current: entry.expires))
  }

  private mutating func use(_ key: ModelKey, _ now: Int64) {
    // The time may precede an earlier use: a new process does not know that the wall clock was ahead.
    if let entry = entries[key] { entries[key]!.used = max(entry.used, now) }
  }

  func list(_ prefix: String, _ now: Int64) -> String {
    ModelPerformer.words(live(withPrefix: prefix, now).map { words($0, entries[$0]!) })
  }

  private func words(_ key: ModelKey, _ entry: ModelEntry) -> String {
    ModelPerformer.words(
      key, cost: entry.cost, size: isTransforming ? nil : entry.value!.archiveSize,
      expires: entry.expires.map { Date(timeIntervalSince1970: Double($0) / 1e9) }, created: Int(entry.created),
      tags: entry.tags.sorted())
  }
}

struct ModelEntry: Equatable {
  /// The cost in bytes that most tagged and conditional writes state.
  static let plainCost = 100

  /// nil: a remembered absence.
  var value: ModelValue?
  /// Nanoseconds since 1970, as all times; nil: never.
  var expires: Int64?
  /// From when a load reloads it.
  var refresh: Int64?
  /// Until when loads may serve it.
  var kept: Int64?
  var cost: Int
  /// When it was set, and the latest time at which it may have been read.
  var written: Int64
  var used: Int64
  var tags: Set<String> = []

  /// In seconds.
  var created: Int64 { written / 1_000_000_000 }

  func isExpired(_ now: Int64) -> Bool { expires.map { $0 <= now } ?? false }

  /// Whether it has expired even for loads.
  func isOver(_ now: Int64) -> Bool { isExpired(now) && kept.map { $0 <= now } ?? true }

  /// The times of loads move with the expiry.
  mutating func move(to time: Int64?) {
    if time == expires { return }
    if let time, let expires {
      refresh = refresh.map { $0 + time - expires }
      kept = kept.map { $0 + time - expires }
    } else {
      (refresh, kept) = (nil, nil)
    }
    expires = time
  }
}
