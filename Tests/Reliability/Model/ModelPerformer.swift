import Foundation
import LMDBCaching
import TestSupport

/// Performs operations on a cache, and puts each result into words that the oracle also makes.
final class ModelPerformer {
  struct Failure: Error {}

  let cache: LMDBCache
  /// Makes an operation elsewhere, while a closure runs.
  var performMeanwhile: (ModelOperation) -> Void = { _ in }
  private let clock: CacheClock
  private let configuration: ModelConfiguration

  init(_ cache: LMDBCache, _ clock: CacheClock, _ configuration: ModelConfiguration) {
    self.cache = cache
    self.clock = clock
    self.configuration = configuration
    // Background work would change counts at any moment.
    cache.disk.autoTrimInterval = .zero
    cache.memory.autoTrimInterval = .zero
  }

  func answer(to operation: ModelOperation) -> String {
    do {
      return try perform(operation)
    } catch {
      return Self.words(error)
    }
  }

  static func words(_ error: any Error) -> String {
    switch error {
    case let error as CacheError where [.typeMismatch, .decodingFailed].contains(error.code): "unreadable"
    case let error as CacheError: "error \(error.code)"
    case is Failure: "failure"
    default: "error \(error)"
    }
  }

  private func perform(_ operation: ModelOperation) throws -> String {
    switch operation {
    case .set(let key, let value, let expiry, let cost, let tags):
      try set(key, value, expiry, cost, tags)
    case .setSeveral(let keys, let first):
      try cache.set(keys.enumerated().map { (key: $1, value: first + $0) })
    case .setIfAbsent(let key, let value, let expiry, let tags):
      return String(try set(key, value, expiry, tags, if: .absent))
    case .setIfVersion(let key, let value, let expiry, let tags, let interference):
      guard let version = try version(key, interference) else { return "nothing" }
      return String(try set(key, value, expiry, tags, if: .version(version)))
    case .removeIfVersion(let key, let interference):
      guard let version = try version(key, interference) else { return "nothing" }
      return String(try cache.removeValue(forKey: key, ifVersion: version))
    case .touch(let key, let expiry):
      return String(try cache.touch(forKey: key, expires: expiry.expiry(clock.now)))
    case .update(let key, let update, let expiry, let cost, let meanwhile):
      return try self.update(key, update, expiry, cost, meanwhile)
    case .increment(let key, let amount, let expiry):
      return try cache.increment(forKey: key, by: amount, expires: expiry.expiry(clock.now)).fingerprint
    case .exchange(let key, let number, let expiry):
      return Self.words(try cache.exchange(number, forKey: key, expires: expiry.expiry(clock.now)))
    case .take(let key): return Self.words(try cache.removeValue(Int.self, forKey: key))
    case .remove(let key):
      if key.utf8.count % 2 == 0 { try cache.removeObject(forKey: key) } else { try cache.removeValue(forKey: key) }
    case .removeAll(let selection): try cache.removeAll(selection.selection(clock.now))
    case .batch(let changes, let fails, let waits): try batch(changes, fails: fails, waits: waits)
    case .load(let key, let load): return try self.load(key, load)
    case .get(let key, let kind, let expiry): return try get(ModelRead(key: key, kind: kind), expiry)
    case .values(let keys): return Self.words(try cache.values(Int.self, forKeys: keys).map(Self.words))
    case .bytes(let key):
      let count = try cache.withBytes(forKey: key) { $0.byteCount }
      return count.map { "\($0) bytes" } ?? "nothing"
    case .presence(let key):
      let isThere = try cache.contains(key)
      if isThere != cache.containsObject(forKey: key) { return "disagrees with itself" }
      let entry = try cache.entry(forKey: key)
      return "\(isThere) \(entry.map(words) ?? "nothing")"
    case .list(let prefix): return try list(prefix)
    case .count: return try count()
    case .snapshot(let reads, let changes): return try snapshot(reads, changes)
    case .look(let reads): return try look(reads)
    case .backUp: return try backUp()
    case .flush: try cache.flush()
    case .commit: try cache.write(waitsForCommit: true) { _ in }
    case .dropMemory: cache.memory.removeAll()
    case .limitMemory(let count, let cost): (cache.memory.countLimit, cache.memory.costLimit) = (count, cost)
    case .sweep:
      try cache.sweepTags()
      try cache.sweepValues()
      try cache.giveBackSpace()
    case .trim(let trim): return try self.trim(trim)
    }
    return "done"
  }

  // MARK: Writing

  private func set(
    _ key: String, _ value: ModelValue, _ expiry: ModelExpiry, _ cost: Int?, _ tags: [String]
  ) throws {
    let expires = expiry.expiry(clock.now)
    guard let type = value.kind.type else {
      return try cache.setObject(value.object, forKey: key, expires: expires, cost: cost, tags: tags)
    }
    func store<V: ModelContent>(_ type: V.Type) throws {
      try cache.set(type.make(value.number, size: value.size), forKey: key, expires: expires, cost: cost, tags: tags)
    }
    try store(type)
  }

  private func set(
    _ key: String, _ value: ModelValue, _ expiry: ModelExpiry, _ tags: [String], if condition: WriteCondition
  ) throws -> Bool {
    let expires = expiry.expiry(clock.now)
    guard let type = value.kind.type else {
      return try cache.setObject(
        value.object, forKey: key, expires: expires, cost: ModelEntry.plainCost, tags: tags, if: condition)
    }
    func store<V: ModelContent>(_ type: V.Type) throws -> Bool {
      try cache.set(
        type.make(value.number, size: value.size), forKey: key, expires: expires, cost: ModelEntry.plainCost,
        tags: tags, if: condition)
    }
    return try store(type)
  }

  private func version(_ key: String, _ interference: ModelInterference) throws -> EntryVersion? {
    guard let version = try cache.entry(forKey: key)?.version else { return nil }
    switch interference {
    case .nothing: break
    case .set: try cache.set(7, forKey: key)
    case .touch: try cache.touch(forKey: key, expires: .after(.seconds(3)))
    case .flush: try cache.flush()
    }
    return version
  }

  private func update(
    _ key: String, _ update: ModelUpdate, _ expiry: ModelExpiry, _ cost: Int?, _ meanwhile: ModelOperation?
  ) throws -> String {
    var calls = 0
    let stored = try cache.update(Int.self, forKey: key, expires: expiry.expiry(clock.now), cost: cost) { number in
      calls += 1
      if calls == 1, let meanwhile { performMeanwhile(meanwhile) }
      switch update {
      case .add(let amount): number = (number ?? 0) + amount
      case .remove: number = nil
      case .fail:
        number = 0
        throw Failure()
      }
    }
    return Self.words(stored)
  }

  private func batch(_ changes: [ModelOperation], fails: Bool, waits: Bool) throws {
    let now = clock.now
    try cache.write(waitsForCommit: waits) { batch in
      for change in changes {
        switch change {
        case .set(let key, let value, let expiry, let cost, let tags):
          func add<V: ModelContent>(_ type: V.Type, to batch: inout CacheBatch) {
            batch.set(
              type.make(value.number, size: value.size), forKey: key, expires: expiry.expiry(now), cost: cost,
              tags: tags)
          }
          add(value.kind.type!, to: &batch)
        case .remove(let key): batch.removeValue(forKey: key)
        case .removeAll(let selection): batch.removeAll(selection.selection(now))
        default: preconditionFailure("\(change) does not fit a batch")
        }
      }
      if fails { throw Failure() }
    }
  }

  // MARK: Loading

  private func load(_ key: String, _ load: ModelLoad) throws -> String {
    let calls = Guarded(0)
    nonisolated(unsafe) let performer = self
    let source: @Sendable () throws -> Int? = {
      calls { $0 += 1 }
      if let meanwhile = load.meanwhile { _ = performer.answer(to: meanwhile) }
      switch load.outcome {
      case .value: return load.number
      case .absence: return nil
      case .failure: throw Failure()
      }
    }
    let result = Result {
      load.isOptional
        ? try cache.optionalValue(Int.self, forKey: key, options: load.options) { _ in try source() }
        : try cache.value(Int.self, forKey: key, options: load.options) { _ in try source()! }
    }
    // Refreshes in the background.
    guard eventually({ !cache.isRefreshing }) else { return "a refresh does not end" }
    let words: String =
      switch result {
      case .success(let number): Self.words(number)
      case .failure(let error): Self.words(error)
      }
    return "\(words) \(calls.current)"
  }

  // MARK: Reading

  private func get(_ read: ModelRead, _ expiry: ModelExpiry?) throws -> String {
    guard let type = read.kind.type else {
      guard let object = try cache.object(forKey: read.key) else { return "nothing" }
      // Standard values are read as objects too: none of them is an array of texts.
      guard let texts = (object as? NSArray).map(Array.init) as? [String], !texts.isEmpty else { return "unreadable" }
      return ModelValue.fingerprint(of: texts)
    }
    func find<V: ModelContent>(_ type: V.Type) throws -> String {
      if let expiry { return Self.words(try cache.value(type, forKey: read.key, expires: expiry.expiry(clock.now))) }
      return Self.words(try cache.value(type, forKey: read.key))
    }
    return try find(type)
  }

  private func list(_ prefix: String) throws -> String {
    let entries = try cache.entries(withPrefix: prefix)
    var paged: [CacheEntry] = []
    try cache.forEachPage(withPrefix: prefix, pageSize: 3) { page in
      paged += page
      return true
    }
    func isBefore(_ one: CacheEntry, _ other: CacheEntry) -> Bool {
      one.key.utf8.lexicographicallyPrecedes(other.key.utf8)
    }
    if paged.sorted(by: isBefore) != entries { return "the pages list something else" }
    return Self.words(entries.map(words))
  }

  private func count() throws -> String {
    try cache.sweepTags()
    try cache.disk.trim(to: .limits)
    let memory = cache.memory
    if memory.count > memory.countLimit || memory.totalCost > memory.costLimit { return "too much in memory" }
    if !cache.health.isHealthy { return "\(cache.health)" }
    return "\(try cache.count) \(try cache.totalCost)"
  }

  private func snapshot(_ reads: [ModelRead], _ changes: [ModelOperation]) throws -> String {
    try cache.read { snapshot in
      var answers = changes.map(answer)
      answers.append(Self.words(try snapshot.entries().map(words)))
      for read in reads {
        func find<V: ModelContent>(_ type: V.Type, in snapshot: borrowing CacheSnapshot) -> String {
          do { return Self.words(try snapshot.value(type, forKey: read.key)) } catch { return Self.words(error) }
        }
        answers.append("\(try snapshot.contains(read.key)) \(find(read.kind.type!, in: snapshot))")
      }
      return Self.words(answers)
    }
  }

  private func look(_ reads: [ModelRead]) throws -> String {
    try Self.look(cache.directory.path, reads, clock, configuration)
  }

  static func look(
    _ path: String, _ reads: [ModelRead], _ clock: CacheClock, _ configuration: ModelConfiguration
  ) throws -> String {
    let reader = try CacheReader(
      directory: URL(fileURLWithPath: path), valueTransforms: configuration.transforms, clock: clock)
    guard let reader else { return "no cache" }
    var entries: [CacheEntry] = []
    try reader.forEachPage(pageSize: 4) { page in
      entries += page
      return true
    }
    entries.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    var answers = [words(entries.map { words($0, configuration) })]
    for read in reads {
      func find<V: ModelContent>(_ type: V.Type) -> String {
        do { return words(try reader.value(type, forKey: read.key)) } catch { return words(error) }
      }
      answers.append(find(read.kind.type!))
    }
    return words(answers + reader.notices)
  }

  private func backUp() throws -> String {
    let place = URL(fileURLWithPath: cache.directory.path + ".backup")
    try cache.backUp(to: place)
    defer { try? FileManager.default.removeItem(at: place) }
    var configuration = configuration.make(clock)
    // A backup keeps the entries' times.
    configuration.disk.ageLimit = nil
    let copy = try LMDBCache(directory: place, configuration: configuration)
    copy.disk.autoTrimInterval = .zero
    let entries = Self.words(try copy.entries().map(words))
    try copy.close()
    return entries
  }

  // MARK: Trimming

  /// The keys that remain.
  private func trim(_ trim: ModelTrim) throws -> String {
    let target: TrimTarget =
      switch trim {
      case .limits: .limits
      case .count(let count): .count(count)
      case .cost(let cost): .cost(cost)
      case .age(let seconds): .age(.seconds(seconds))
      }
    if case .limits = trim { try cache.disk.trim(to: target) } else { try cache.trim(to: target) }
    return try cache.entries().map { String(ModelKeys.index($0.key) ?? -1) }
      .joined(separator: " ")
  }

  // MARK: Words

  static func words<V: ModelContent>(_ value: V?) -> String { value?.fingerprint ?? "nothing" }

  static func words(_ answers: [String]) -> String { answers.joined(separator: "; ") }

  private func words(_ entry: CacheEntry) -> String { Self.words(entry, configuration) }

  private static func words(_ entry: CacheEntry, _ configuration: ModelConfiguration) -> String {
    let size = entry.format.rawValue < 32 && configuration.transforms.isEmpty ? entry.size : nil
    return words(
      ModelKey(entry.key), cost: entry.cost, size: size, expires: entry.expiration,
      created: Int(entry.created.timeIntervalSince1970), tags: ModelKeys.tags.filter(entry.isTagged))
  }

  static func words(
    _ key: ModelKey, cost: Int, size: Int?, expires: Date?, created: Int, tags: [String]
  ) -> String {
    let expiry = expires.map { String(Int64(($0.timeIntervalSince1970 * 1e6).rounded())) } ?? "never"
    return "\(key) cost \(cost) size \(size.map(String.init) ?? "?") expires \(expiry) created \(created)"
      + tags.map { " #\($0)" }.joined()
  }
}
