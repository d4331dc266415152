import Foundation
import LMDBCaching
import TestSupport

/// The configuration of a cache and the writes of a process, for the trials that end processes and cut the power.
struct WriterLoad: Codable {
  var directory: String
  var durability: UInt8
  var interval: Int
  var journal: Int
  var threshold: Int
  var memoryCount: Int
  var segment = 256 << 10
  var map = 1 << 30
  /// The largest value, in bytes.
  var size: Int
  /// Whether writers remove everything now and then; the same for all loads of a directory.
  var clears: Bool
  var seed: UInt64
  /// The writer's number, unique in a trial.
  var writer = 0

  static func random(
    _ random: inout SeededRandom, directory: String, durability: Durability, clears: Bool
  ) -> WriterLoad {
    WriterLoad(
      directory: directory, durability: durability.rawValue, interval: [0, 1, 5, 50, 86_400_000][random.below(5)],
      journal: [64 << 10, 64 << 10, 256 << 10, 4 << 20][random.below(4)],
      threshold: [1 << 20, 4_096, 1_000][random.below(3)], memoryCount: [Int.max, 0, 5][random.below(3)],
      size: [40, 300, 3_000, 12_000, 40_000][random.below(5)], clears: clears, seed: random.next())
  }

  var text: String {
    get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
  }

  func open() throws -> LMDBCache {
    try TrialCache.open(directory) {
      $0.durability = Durability(rawValue: durability)!
      $0.disk.groupCommitInterval = .milliseconds(interval)
      $0.disk.journalSize = journal
      $0.disk.inlineThreshold = threshold
      $0.disk.valueSegmentSize = segment
      $0.disk.mapSize = map
      $0.memory.countLimit = memoryCount
      // Other processes are suspended for moments.
      $0.disk.lockTimeout = .seconds(30)
    }
  }
}

extension WriterLoad {
  init(_ text: String) throws { self = try JSONDecoder().decode(WriterLoad.self, from: Data(text.utf8)) }
}

/// A writer's `number`-th operation, which follows from the seed: the acknowledgements determine the contents.
enum WriterOperation {
  case set(key: String, size: Int)
  case remove(key: String)
  case removePrefix(String)
  case removeAll
  case batch(sets: [(key: String, size: Int)], removals: [String])
  /// Adds 1 to a number that all writers share.
  case add(key: String)
  /// Returns unused disk space, which no reader sees.
  case upkeep
  case flush
  /// Closes and opens the cache.
  case reopen

  static let ownKeys = 12
  static let sharedKeys = 4

  static func ownPrefix(_ writer: Int) -> String { "w\(writer)/" }
  static func sharedKey(_ index: Int) -> String { "shared/\(index)" }
  static let sumPrefix = "sum/"
  static let sums = (0..<2).map { "\(sumPrefix)\($0)" }
  /// Two keys that only batches write, always together.
  static func pair(_ writer: Int) -> [String] { [0, 1].map { "\(ownPrefix(writer))pair/\($0)" } }

  init(number: Int, _ load: WriterLoad) {
    var random = SeededRandom(load.seed ^ UInt64(load.writer) << 40 ^ UInt64(number))
    func own(_ random: inout SeededRandom) -> String {
      // Three groups, so that prefix removals have targets. One is longer than a key of LMDB.
      let index = random.below(Self.ownKeys)
      return "\(Self.ownPrefix(load.writer))\(index % 3)/"
        + (index == 0 ? String(repeating: "long", count: 150) : "\(index)")
    }
    func size(_ random: inout SeededRandom) -> Int { random.below(4) == 0 ? load.size : random.below(load.size) }
    switch random.below(100) {
    case 0..<47: self = .set(key: own(&random), size: size(&random))
    case 47..<50: self = .flush
    case 50..<65: self = .set(key: Self.sharedKey(random.below(Self.sharedKeys)), size: size(&random))
    case 65..<75: self = .add(key: Self.sums[random.below(Self.sums.count)])
    case 75..<83: self = .remove(key: own(&random))
    case 83..<85: self = .remove(key: Self.sharedKey(0))
    case 85..<88: self = .removePrefix("\(Self.ownPrefix(load.writer))\(random.below(3))/")
    case 88..<90 where load.clears: self = .removeAll
    case 88..<94:
      let pair = Self.pair(load.writer)
      if random.below(4) == 0 {
        self = .batch(sets: [(own(&random), size(&random))], removals: pair)
      } else {
        // The same size for both: they are either in the database or in the value log.
        let size = size(&random)
        let removed = own(&random)
        self = .batch(sets: pair.map { ($0, size) }, removals: [removed])
      }
    case 94..<97: self = .upkeep
    case 97: self = .reopen
    default: self = .set(key: own(&random), size: load.size)
    }
  }

  func apply(to cache: inout LMDBCache, _ value: WrittenValue, _ load: WriterLoad) throws {
    switch self {
    case .set(let key, let size): try cache.set(value.text(key: key, size: size), forKey: key)
    case .remove(let key): try cache.removeValue(forKey: key)
    case .removePrefix(let prefix): try cache.removeAll(.prefix(prefix))
    case .removeAll: try cache.removeAll()
    case .batch(let sets, let removals):
      try cache.write(waitsForCommit: value.number % 2 == 0) { batch in
        for (key, size) in sets { batch.set(value.text(key: key, size: size), forKey: key) }
        for key in removals { batch.removeValue(forKey: key) }
      }
    case .add(let key): try Self.add(key, cache, value.number)
    case .upkeep:
      try cache.sweepValues()
      try cache.giveBackSpace()
    case .flush: try cache.flush()
    case .reopen:
      try cache.close()
      cache = try load.open()
    }
  }

  private static func add(_ key: String, _ cache: LMDBCache, _ number: Int) throws {
    switch number % 3 {
    case 0: try cache.increment(forKey: key)
    case 1: try cache.withoutMemory.update(Int.self, forKey: key) { $0 = ($0 ?? 0) + 1 }
    default:
      while true {
        guard let entry = try cache.entry(forKey: key) else {
          if try cache.set(1, forKey: key, if: .absent) { return }
          continue
        }
        // If the value is newer than the entry, the set is refused.
        let sum = try cache.value(Int.self, forKey: key) ?? 0
        if try cache.set(sum + 1, forKey: key, if: .version(entry.version)) { return }
      }
    }
  }

  func apply(to state: inout WriterState, _ value: WrittenValue) {
    switch self {
    case .set(let key, _): state.last[key] = .some(value)
    case .remove(let key): state.last[key] = .some(nil)
    case .removePrefix(let prefix):
      for key in state.last.keys where key.hasPrefix(prefix) { state.last[key] = .some(nil) }
    case .removeAll:
      for key in state.last.keys { state.last[key] = .some(nil) }
      state.sums = [:]
      state.clears += 1
    case .batch(let sets, let removals):
      for (key, _) in sets { state.last[key] = .some(value) }
      for key in removals { state.last[key] = .some(nil) }
    case .add(let key): state.sums[key, default: 0] += 1
    case .upkeep, .flush, .reopen: break
    }
  }
}

/// The result of one writer's operations: the last value of every key it touched, or nil if removed.
struct WriterState: Equatable {
  var last: [String: WrittenValue?] = [:]
  /// How often it added to each sum.
  var sums: [String: Int] = [:]
  var clears = 0

  /// - Parameter contents: The entries before the first operation.
  init(_ contents: [String: WrittenValue]) {
    for (key, value) in contents {
      if key.hasPrefix(WriterOperation.sumPrefix) { sums[key] = value.number } else { last[key] = value }
    }
  }

  init(_ load: WriterLoad, count: Int) {
    for number in 0..<count {
      WriterOperation(number: number, load).apply(to: &self, WrittenValue(writer: load.writer, number: number))
    }
  }

  var contents: [String: WrittenValue] {
    last.compactMapValues { $0 }.merging(sums.mapValues { WrittenValue(number: $0) }) { $1 }
  }

  func own(_ writer: Int) -> [String: WrittenValue] {
    let prefix = WriterOperation.ownPrefix(writer)
    return last.compactMapValues { $0 }.filter { $0.key.hasPrefix(prefix) }
  }
}

/// A value that identifies its write, its writer and its size, with every byte determined; or a sum, of no writer.
struct WrittenValue: Hashable {
  let writer: Int
  let number: Int

  func text(key: String, size: Int) -> String {
    let head = "\(key)#\(writer).\(number).\(size);"
    let letter = Character(UnicodeScalar(UInt8(97 + number % 26)))
    return head + String(repeating: letter, count: max(0, size - head.utf8.count))
  }

  init(writer: Int = -1, number: Int) {
    self.writer = writer
    self.number = number
  }

  /// nil: no writer stored this text under this key.
  init?(_ text: String, key: String) {
    let utf8 = text.utf8
    guard let hash = utf8.firstIndex(of: UInt8(ascii: "#")), let end = utf8.firstIndex(of: UInt8(ascii: ";")),
      hash < end, text[..<hash] == key
    else { return nil }
    let numbers = text[utf8.index(after: hash)..<end].split(separator: ".").map { Int($0) }
    guard numbers.count == 3, let writer = numbers[0], let number = numbers[1], let size = numbers[2] else {
      return nil
    }
    let (letter, rest) = (UInt8(97 + number % 26), utf8[utf8.index(after: end)...])
    guard rest.allSatisfy({ $0 == letter }), utf8.count == max(size, utf8.count - rest.count) else { return nil }
    self.writer = writer
    self.number = number
  }
}
