import Foundation
import LMDBCaching
import Logging
import TestSupport

/// The cache's configuration and the kinds of disturbances, which follow from the seed.
struct ModelConfiguration: Sendable {
  let seed: UInt64

  init(seed: UInt64) { self.seed = seed }

  /// Another process on the directory. Clocks that go back are left to the other seeds.
  var hasChild: Bool { seed % 4 == 1 }
  var hasFaults: Bool { seed % 4 == 2 }
  /// The disk tier has limits. Left to the other seeds are loads, since entries that only loads see cannot be listed,
  /// and operations that may exceed a limit on the way.
  var isLimited: Bool { seed % 4 == 3 }

  static let countLimit = 9
  static let costLimit = 40_000
  static let ageLimit = 600

  var transforms: [any ValueTransform] { seed % 5 == 1 ? [ModelTransform()] : [] }

  func make(_ clock: CacheClock) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    configuration.disk.mapSize = 1 << 30
    // In real time, on a machine that may be busy.
    configuration.disk.lockTimeout = .seconds(60)
    configuration.logger = Logger(label: "model", factory: { _ in SwiftLogNoOpLogHandler() })
    configuration.clock = clock
    configuration.disk.journalSize = 64 << 10
    configuration.disk.inlineThreshold = [2_000, 1, 1 << 30][Int(seed / 2 % 3)]
    configuration.disk.valueSegmentSize = 64 << 10
    configuration.memory.countLimit = [Int.max, 0, 4, 1][Int(seed / 4 % 4)]
    configuration.memory.costLimit = seed % 7 == 2 ? 5_000 : .max
    configuration.durability = [.fast, .ordered, .ordered, .full, .ordered][Int(seed % 5)]
    if seed % 3 == 0 { configuration.disk.groupCommitInterval = .seconds(86_400) }
    configuration.valueTransforms = transforms
    if isLimited {
      configuration.disk.countLimit = Self.countLimit
      configuration.disk.costLimit = Self.costLimit
      configuration.disk.ageLimit = .seconds(Self.ageLimit)
    }
    return configuration
  }
}

/// Inverts every bit, except in short values.
struct ModelTransform: ValueTransform {
  let identifier: UInt8 = 200

  func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? {
    bytes.count < 100 ? nil : Data(bytes.map { ~$0 })
  }

  func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data { Data(bytes.map { ~$0 }) }
}

/// Draws the steps of a history. They do not depend on results, so that any part of it can be repeated.
struct ModelGenerator {
  private let configuration: ModelConfiguration
  private var random: SeededRandom
  private var number = 0

  init(_ configuration: ModelConfiguration) {
    self.configuration = configuration
    random = SeededRandom(configuration.seed)
  }

  mutating func steps(_ count: Int) -> [ModelStep] {
    var steps: [ModelStep] = configuration.hasChild ? [.startChild] : []
    while steps.count < count { steps.append(step()) }
    return steps
  }

  private mutating func chance(_ one: Int) -> Bool { random.below(one) == 0 }

  private mutating func pick<T>(_ choices: [T]) -> T { choices[random.below(choices.count)] }

  private mutating func step() -> ModelStep {
    switch random.below(100) {
    case 0..<6: return .advance(chance(6) ? random.below(300_000) : random.below(4_000))
    case 6 where !configuration.hasChild: return .setClock(by: random.below(20_000) - 12_000)
    case 7: return .reopen
    case 8: return configuration.hasChild ? .startChild : .crash
    case 9..<11: return .toggleOther
    case 11..<13: return .observe
    case 13..<20 where configuration.hasChild: return disturbance()
    case 13..<20 where configuration.hasFaults: return failure()
    case 20..<23 where !configuration.isLimited: return .race(write(), .cache, write(), pick([.disk, .other]))
    default: return .perform(operation(), actor())
    }
  }

  private mutating func actor() -> ModelActor {
    switch random.below(10) {
    case 0..<2: .disk
    case 2..<4: .other
    case 4..<7: .child
    default: .cache
    }
  }

  private mutating func disturbance() -> ModelStep {
    switch random.below(7) {
    case 0:
      let operations = (0...random.below(4)).map { _ in write() }
      return .killChild(operations, afterAnswers: random.below(4), meanwhile: chance(2) ? write() : nil)
    case 1: return .endChild
    case 2: return .crash
    default: return .race(write(), pick([.cache, .disk]), write(), .child)
    }
  }

  static let faults: [(String, Int32)] = [
    ("mdb_txn_commit", ENOSPC), ("mdb_txn_commit", EIO), ("mdb_txn_begin", EIO), ("mdb_txn_begin", ENOMEM),
    ("mdb_cursor_put", ENOSPC), ("mdb_cursor_put", EIO), ("mdb_cursor_open", ENOMEM), ("pwrite", ENOSPC),
    ("pwrite", EIO), ("fallocate", ENOSPC), ("ftruncate", ENOSPC), ("fsync", EIO), ("openat", EMFILE), ("mmap", ENOMEM),
  ]
  static let openingFaults: [(String, Int32)] = [
    ("openat", EMFILE), ("openat", EACCES), ("mmap", ENOMEM), ("mdb_env_open", ENOMEM), ("mdb_txn_begin", EIO),
    ("fstat", EIO), ("flock", ENOLCK), ("mkdirat", ENOSPC),
  ]

  private mutating func failure() -> ModelStep {
    func fault(_ faults: [(String, Int32)]) -> ModelFault {
      let (call, status) = pick(faults)
      return ModelFault(call: call, status: status, first: 1 + random.below(4), count: pick([1, 2, 1_000]))
    }
    if chance(5) { return .failingOpening(fault(Self.openingFaults)) }
    let fault = fault(Self.faults)
    return .failing(fault, chance(4) ? .get(key(), .number) : write())
  }

  // MARK: Operations

  private mutating func operation() -> ModelOperation {
    switch random.below(100) {
    case 0..<38: write()
    case 38..<42 where !configuration.isLimited: interrupted()
    case 42..<70: read()
    case 70..<78 where !configuration.isLimited: .load(key(), load())
    case 78..<82: versioned()
    case 82..<84: .touch(key(), expiry())
    case 84: .removeAll(chance(2) ? .keys([key(), key()]) : .createdBefore(random.below(8_000)))
    case 85: .setSeveral([key(), key(), key()], from: newNumber())
    case 86..<88: .flush
    case 88: .commit
    case 89..<92: .dropMemory
    case 92: .limitMemory(count: pick([0, 1, 3, .max]), cost: pick([0, 200, 5_000, .max]))
    case 93: .sweep
    case 94..<97: .trim(trim())
    default: .count
    }
  }

  private mutating func newNumber() -> Int {
    number += 10
    return number
  }

  private mutating func key() -> String {
    ModelKeys.all[chance(3) ? random.below(ModelKeys.all.count) : random.below(5)]
  }

  private mutating func prefix() -> String { pick(ModelKeys.prefixes) }

  private mutating func tags() -> [String] { ModelKeys.tags.filter { _ in random.below(4) == 0 } }

  private mutating func expiry() -> ModelExpiry {
    switch random.below(10) {
    case 0..<2: .after(random.below(8_000) - 500)
    case 2: .at(random.below(8_000) - 500)
    case 3: .sliding(1 + random.below(8_000))
    case 4..<6: .unchanged
    default: .never
    }
  }

  /// For a new entry of a batch.
  private mutating func newExpiry() -> ModelExpiry {
    let expiry = expiry()
    return expiry == .unchanged ? .never : expiry
  }

  private mutating func value(isObject: Bool = true) -> ModelValue {
    let sizes = [0, 1, 20, 99, 100, 200, 1_023, 1_024, 2_000, 2_001, 4_080, 8_192, 16_384, 40_000]
    let kinds: [ModelValue.Kind] = [.text, .data, .number, .number, .number, .numbers, .record, .object, .date]
    let kind = pick(isObject ? kinds : kinds.filter { $0 != .object })
    let size = chance(4) ? random.below(17_000) : pick(sizes)
    return ModelValue(kind, newNumber(), size: kind == .number || kind == .date ? 8 : size)
  }

  private mutating func set(isObject: Bool = true) -> ModelOperation {
    let value = value(isObject: isObject)
    let own: Int? = chance(3) ? random.below(configuration.isLimited ? 20_000 : 1 << 36) : nil
    return .set(
      key(), value, isObject ? expiry() : newExpiry(), cost: value.archiveSize == nil ? ModelEntry.plainCost : own,
      tags: tags())
  }

  /// An operation whose result follows from one state.
  private mutating func write() -> ModelOperation {
    switch random.below(40) {
    case 0..<17: set()
    case 17..<19: .setIfAbsent(key(), value(), expiry(), tags: tags())
    case 19..<22: .update(key(), pick([.add(random.below(100)), .remove, .fail]), expiry(), cost: pick([nil, 5]))
    case 22..<25: .increment(key(), by: random.below(100), expiry())
    case 25: .exchange(key(), newNumber(), expiry())
    case 26..<28: .take(key())
    case 28..<32: .remove(key())
    case 32..<36: batch()
    case 36: .removeAll(.prefix(prefix()))
    case 37..<39: .removeAll(.tags(chance(2) ? [pick(ModelKeys.tags)] : ["t", "u", "none"]))
    default: chance(3) ? .removeAll(.all) : .remove(key())
    }
  }

  private mutating func interrupted() -> ModelOperation {
    let key = key()
    let other = chance(3) ? self.key() : key
    let meanwhile: ModelOperation =
      switch random.below(8) {
      case 0: .remove(other)
      case 1: .batch([.remove(other), .set(self.key(), .number(newNumber()))])
      case 2: .removeAll(pick([.all, .prefix(prefix()), .tags(["t"])]))
      default: .set(other, .number(newNumber()), .never, tags: tags())
      }
    let update: ModelUpdate = chance(4) ? .remove : .add(random.below(100))
    return .update(key, update, pick([.never, .unchanged]), meanwhile: meanwhile)
  }

  private mutating func batch() -> ModelOperation {
    var changes: [ModelOperation] = []
    for _ in 0...random.below(chance(6) ? 20 : 5) {
      switch random.below(8) {
      case 0: changes.append(.removeAll(pick([.prefix(prefix()), .tags([pick(ModelKeys.tags)])])))
      case 1..<3: changes.append(.remove(key()))
      default: changes.append(set(isObject: false))
      }
    }
    return .batch(changes, fails: chance(8), waits: chance(4))
  }

  private mutating func versioned() -> ModelOperation {
    let interference: ModelInterference = pick([.nothing, .nothing, .set, .touch, .flush])
    if chance(3) { return .removeIfVersion(key(), after: interference) }
    return .setIfVersion(key(), value(), expiry(), tags: tags(), after: interference)
  }

  private mutating func load() -> ModelLoad {
    var load = ModelLoad(number: newNumber())
    load.isOptional = chance(3)
    switch random.below(6) {
    case 0..<2: load.outcome = .failure
    case 2 where load.isOptional: load.outcome = .absence
    default: break
    }
    if !chance(4) {
      load.lifetime = random.below(8_000)
      if chance(2) { load.refreshAhead = pick([0.25, 0.5, 1]) }
    }
    if !chance(3) { load.staleWhileRevalidate = random.below(6_000) }
    if !chance(3) { load.failSafe = random.below(12_000) }
    if chance(2) { load.absenceLifetime = random.below(6_000) }
    load.pause = random.below(3_000)
    load.isLimited = chance(4)
    load.tags = tags()
    if chance(4) {
      load.meanwhile = pick([set(), .remove(key()), .removeAll(.prefix(prefix())), .removeAll(.tags(["t"])), batch()])
    }
    return load
  }

  private mutating func read() -> ModelOperation {
    switch random.below(20) {
    case 0..<9: .get(key(), pick(ModelValue.Kind.allCases + [.number, .number, .text, .data]))
    case 9: .get(key(), .number, chance(2) ? .sliding(1 + random.below(9_000)) : expiry())
    case 10..<12: .values([key(), key(), key()])
    case 12: .bytes(key())
    case 13..<15: .presence(key())
    case 15..<17: .list(prefix())
    case 17:
      .snapshot(reads(), during: configuration.isLimited || chance(3) ? [] : [set(), .flush, .remove(key()), .sweep])
    case 18: chance(4) ? .backUp : .look(reads())
    default: .count
    }
  }

  private mutating func reads() -> [ModelRead] {
    (0..<3).map { _ in ModelRead(key: key(), kind: pick([.number, .text, .data, .record])) }
  }

  private mutating func trim() -> ModelTrim {
    switch random.below(5) {
    case 0: .count(random.below(12))
    case 1: .cost(random.below(20_000))
    case 2: .age(random.below(300))
    default: .limits
    }
  }
}
