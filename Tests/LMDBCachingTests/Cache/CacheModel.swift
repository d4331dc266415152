import Foundation
import TestSupport

@testable import LMDBCaching

/// A cache, and what it has to hold.
final class CacheModel {
  struct Entry: Equatable {
    var value: Stored
    var expires: Int64?
    var cost: Int
  }

  enum Stored: Equatable {
    case text(String)
    case data(Data)
    case number(Int)

    var size: Int {
      switch self {
      case .text(let text): text.utf8.count
      case .data(let data): data.count
      case .number: 8
      }
    }
  }

  struct Mismatch: Error, CustomStringConvertible { let description: String }

  let directory = CacheDirectory()
  let clock = ManualClock()
  let seed: UInt64
  var random: SeededRandom
  var cache: LMDBCache
  /// A second object on the directory, at times.
  var other: LMDBCache?
  var entries: [String.UTF8Bytes: Entry] = [:]
  var log: [String] = []

  let keys: [String] =
    [
      "", "a", "a/1", "a/2", "a/é", "a/e\u{301}", "b", "b/\0", "c/1", "c/2", "c/3", Keys.plainLimit,
      Keys.overPlainLimit,
    ]
    + Keys.sharedPrefix

  init(seed: UInt64) throws {
    self.seed = seed
    random = SeededRandom(seed)
    cache = try Self.open(directory, clock, seed)
  }

  static func open(_ directory: CacheDirectory, _ clock: ManualClock, _ seed: UInt64) throws -> LMDBCache {
    let cache = try directory.open { configuration in
      configuration.clock = .manual(clock)
      configuration.journalSize = 64 << 10
      configuration.inlineThreshold = 6_000
      configuration.memoryCountLimit = [Int.max, 0, 1, 4][Int(seed % 4)]
      configuration.durability = seed % 5 == 0 ? .fast : .ordered
      if seed % 3 == 0 { neverCommitting(&configuration) }
    }
    // What is done in the background would change counts at any moment.
    cache.diskCache.autoTrimInterval = .zero
    return cache
  }

  func key() -> String { keys.randomElement(using: &random)! }
  var either: LMDBCache { other != nil && random.below(2) == 0 ? other! : cache }

  func value() -> Stored {
    let size = [0, 1, 20, 200, 1_023, 1_024, 1_025, 3_000, 5_999, 6_000, 6_001, 9_000].randomElement(using: &random)!
    switch random.below(3) {
    case 0: return .text(String(repeating: Character(UnicodeScalar(UInt8(97 + random.below(26)))), count: size))
    case 1: return .data(Data(repeating: UInt8(random.below(256)), count: size))
    default: return .number(random.below(1 << 40))
    }
  }

  func step(_ number: Int) throws {
    switch random.below(100) {
    case 0..<34: try set()
    case 34..<60: try get()
    case 60..<67: try remove()
    case 67..<72: try batch()
    case 72..<76: try compareEntries()
    case 76..<79: try removePrefix()
    case 79: try removeAll()
    case 80..<83: try cache.flush()
    case 83..<86: cache.memoryCache.removeAll()
    case 86..<90: clock.advance(by: .milliseconds(random.below(4_000)))
    case 90..<92: try trim()
    case 92..<94: try reopen()
    case 94..<96: try toggleOther()
    case 96..<98: try compareCounts()
    default: try snapshot()
    }
  }

  func removeAll() throws {
    log.append("removeAll")
    try either.removeAll()
    entries = [:]
  }

  func live(_ key: String) -> Entry? {
    guard let entry = entries[.init(key)] else { return nil }
    if let expires = entry.expires, expires <= clock.now { return nil }
    return entry
  }

  func set() throws {
    let (key, value) = (key(), value())
    let expiry: Int? = random.below(4) == 0 ? random.below(8_000) - 500 : nil
    let cost: Int? = random.below(3) == 0 ? random.below(1 << 36) : nil
    log.append("set \(key.prefix(8)) \(value.size) \(expiry ?? -1)")
    let duration = expiry.map { Duration.milliseconds($0) }
    let (cache, isDisk) = (either, random.below(4) == 0)
    switch value {
    case .text(let text) where isDisk: try cache.diskCache.set(text, forKey: key, expiresIn: duration, cost: cost)
    case .text(let text): try cache.set(text, forKey: key, expiresIn: duration, cost: cost)
    case .data(let data) where isDisk: try cache.diskCache.set(data, forKey: key, expiresIn: duration, cost: cost)
    case .data(let data): try cache.set(data, forKey: key, expiresIn: duration, cost: cost)
    case .number(let number): try cache.set(number, forKey: key, expiresIn: duration, cost: cost)
    }
    put(key, value, expiry, cost)
  }

  func put(_ key: String, _ value: Stored, _ expiry: Int?, _ cost: Int?) {
    entries[.init(key)] = Entry(
      value: value, expires: expiry.map { clock.now + Int64(max(0, $0)) * 1_000_000 },
      cost: cost ?? key.utf8.count + value.size)
  }

  func get() throws {
    let (key, cache) = (key(), either)
    log.append("get \(key.prefix(8))")
    let expected = live(key)
    var found: Stored?
    do throws(CacheError) {
      switch random.below(4) {
      case 0: found = try cache.value(Data.self, forKey: key).map { .data($0) }
      case 1: found = try cache.value(Int.self, forKey: key).map { .number($0) }
      case 2: found = try cache.diskCache.value(String.self, forKey: key).map { .text($0) }
      default: found = try cache.value(String.self, forKey: key).map { .text($0) }
      }
    } catch {
      // Read as another type than it is.
      guard error.code == .typeMismatch, expected != nil else { throw error }
      return
    }
    if found != expected?.value {
      throw Mismatch(description: "\(key.prefix(8)): \(found as Any), not \(expected as Any)")
    }
    if cache.contains(key) != (expected != nil) { throw Mismatch(description: "contains \(key.prefix(8))") }
  }

  func remove() throws {
    let (key, cache) = (key(), either)
    log.append("remove \(key.prefix(8))")
    if random.below(3) == 0 { try cache.diskCache.removeValue(forKey: key) } else { try cache.removeValue(forKey: key) }
    entries[.init(key)] = nil
  }

  func removePrefix() throws {
    let prefix = ["", "a/", "c", "a/e", String(repeating: "s", count: 494), Keys.plainLimit, "x"].randomElement(
      using: &random)!
    log.append("removePrefix \(prefix.prefix(8))")
    try either.removeAll(withPrefix: prefix)
    entries = entries.filter { !$0.key.bytes.starts(with: prefix.utf8) }
  }

  func batch() throws {
    log.append("batch")
    var operations: [(String, Stored?, Int?)] = []
    for _ in 0..<random.below(6) + 1 {
      operations.append((key(), random.below(4) == 0 ? nil : value(), random.below(4) == 0 ? random.below(5_000) : nil))
    }
    let removesFirst = random.below(8) == 0
    try either.write { batch in
      if removesFirst { batch.removeAll(withPrefix: "a") }
      for (key, value, expiry) in operations {
        let duration = expiry.map { Duration.milliseconds($0) }
        switch value {
        case .text(let text): batch.set(text, forKey: key, expiresIn: duration)
        case .data(let data): batch.set(data, forKey: key, expiresIn: duration)
        case .number(let number): batch.set(number, forKey: key, expiresIn: duration)
        case nil: batch.removeValue(forKey: key)
        }
      }
    }
    if removesFirst { entries = entries.filter { !$0.key.bytes.starts(with: "a".utf8) } }
    for (key, value, expiry) in operations {
      if let value { put(key, value, expiry, nil) } else { entries[.init(key)] = nil }
    }
  }

  func compareEntries() throws {
    log.append("entries")
    let prefix = ["", "a", "a/", "b"].randomElement(using: &random)!
    let found = try either.entries(withPrefix: prefix)
    let expected = entries.filter {
      $0.key.bytes.starts(with: prefix.utf8) && ($0.value.expires.map { $0 > clock.now } ?? true)
    }
    let keys = expected.keys.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) }
    if found.map({ Array($0.key.utf8) }) != keys { throw Mismatch(description: "entries of \(prefix)") }
    for entry in found {
      let model = expected[.init(entry.key)]!
      if entry.cost != model.cost || entry.size != model.value.size {
        throw Mismatch(description: "cost or size of \(entry.key.prefix(8))")
      }
    }
  }

  func compareCounts() throws {
    log.append("counts")
    // Expired ones count until they are removed.
    try cache.diskCache.trimToLimits()
    entries = entries.filter { entry in entry.value.expires.map { $0 > clock.now } ?? true }
    let cost = entries.values.reduce(0) { $0 + $1.cost }
    if cache.count != entries.count || cache.totalCost != cost {
      throw Mismatch(description: "\(cache.count), \(cache.totalCost), not \(entries.count), \(cost)")
    }
  }

  func snapshot() throws {
    log.append("snapshot")
    let key = key()
    let expected = live(key)
    let found = try either.read { snapshot in
      if try snapshot.contains(key) != (expected != nil) { throw Mismatch(description: "snapshot contains") }
      return try snapshot.entries().count
    }
    let count = entries.values.count { $0.expires.map { $0 > clock.now } ?? true }
    if found != count { throw Mismatch(description: "snapshot has \(found) entries, not \(count)") }
  }

  func trim() throws {
    log.append("trim")
    try compareCounts()
    let count = random.below(entries.count + 2)
    try either.trim(toCount: count)
    // Which ones stay is the limits' tests' business.
    let kept = Set(try cache.entries().map { [UInt8]($0.key.utf8) })
    if kept.count != min(count, entries.count) { throw Mismatch(description: "\(kept.count) after a trim to \(count)") }
    entries = entries.filter { kept.contains($0.key.bytes) }
  }

  func reopen() throws {
    log.append("reopen")
    try other?.close()
    other = nil
    try cache.close()
    cache = try Self.open(directory, clock, seed)
  }

  func toggleOther() throws {
    log.append("other")
    if let open = other {
      try open.close()
      other = nil
    } else {
      other = try Self.open(directory, clock, seed)
    }
  }

  func end() throws {
    try compareCounts()
    try compareEntries()
    try reopen()
    try compareCounts()
    for key in keys { log.append("end \(key.prefix(8))"); for _ in 0..<6 { try getExactly(key) } }
    try cache.close()
  }

  func getExactly(_ key: String) throws {
    let found: Stored? =
      switch live(key)?.value {
      case .text: try cache.value(String.self, forKey: key).map { .text($0) }
      case .data: try cache.value(Data.self, forKey: key).map { .data($0) }
      case .number, nil: try cache.value(Int.self, forKey: key).map { .number($0) }
      }
    if found != live(key)?.value { throw Mismatch(description: "at the end, \(key.prefix(8))") }
  }
}

extension String {
  /// A key as the cache takes it.
  struct UTF8Bytes: Hashable {
    let bytes: [UInt8]
    init(_ string: String) { bytes = Array(string.utf8) }
  }
}
