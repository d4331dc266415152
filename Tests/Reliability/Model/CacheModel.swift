import Foundation
import LMDBCaching
import TestSupport

/// A cache, and a dictionary with its expected contents. Every step throws if the cache differs.
final class CacheModel {
  let configuration: ModelConfiguration
  let clock = ManualClock()
  /// The clock of expiry and use, which does not follow the wall clock back. The caches and the model share it. Each
  /// reopening makes a new one, as a new process does.
  var time: CacheClock
  var random: SeededRandom
  /// The parent of the directories: after a crash, the model moves on to a copy.
  private let parent: String
  private var directories = 0
  private(set) var directory = ""
  var cache: LMDBCache
  /// Sometimes a second object on the same directory.
  var other: LMDBCache?
  /// Expired entries count until they are removed.
  var entries: [ModelKey: ModelEntry] = [:]
  var changes: CacheChanges
  var told: Set<ModelKey> = []
  /// The latest time so far: entries that expired by then may be reported as gone.
  var latest: Int64 = 0
  /// Whether a limit was exceeded since the last comparison, so that entries may be gone.
  var mayHaveEvicted = false
  var log: [String] = []
  var counts: [String: Int] = [:]

  init(seed: UInt64, in parent: String) throws {
    configuration = ModelConfiguration(seed: seed)
    time = .manual(clock)
    random = SeededRandom(seed)
    self.parent = parent
    directory = parent + "/0"
    cache = try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration.make(time))
    changes = cache.changes()
    prepare(cache)
  }

  func open() throws -> LMDBCache {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration.make(time))
    prepare(cache)
    return cache
  }

  private func prepare(_ cache: LMDBCache) {
    // Background work would change counts at any moment.
    cache.disk.autoTrimInterval = .zero
    cache.memory.autoTrimInterval = .zero
  }

  func moveOn() -> String {
    directories += 1
    directory = parent + "/\(directories)"
    return directory
  }

  var either: LMDBCache { other != nil && random.below(2) == 0 ? other! : cache }

  func key() -> String { ModelKey.all.randomElement(using: &random)! }

  func note(_ step: String, _ detail: String = "") {
    log.append(detail.isEmpty ? step : step + " " + detail)
    if log.count > 40 { log.removeFirst(20) }
    counts[step, default: 0] += 1
  }

  func step() throws {
    switch random.below(100) {
    case 0..<30: try set()
    case 30..<55: try get()
    case 55..<61: try remove()
    case 61..<66: try batch()
    case 66..<70: try compareEntries()
    case 70..<73: try removePrefix()
    case 73: try removeAll()
    case 74..<76: try flush()
    case 76..<79: dropMemory()
    case 79..<84: try moveClock()
    case 84..<86: try trim()
    case 86..<88: try keepLimits()
    case 88..<90: try reopen()
    case 90: try crash()
    case 91..<93: try toggleOther()
    case 93..<95: try compareCounts()
    case 95..<97: try snapshot()
    case 97: try load()
    case 98: try useTags()
    default: for _ in 0..<4 { try change() }
    }
    try compareChanges()
    cache._checkInvariants()
    other?._checkInvariants()
  }

  func end() throws {
    try compareCounts()
    try compareEntries()
    try reopen()
    try compareCounts()
    for key in ModelKey.all { for _ in 0..<3 { try getExactly(key) } }
    try crash()
    try compareCounts()
    for key in ModelKey.all { try getExactly(key) }
    try cache.close()
  }
}
