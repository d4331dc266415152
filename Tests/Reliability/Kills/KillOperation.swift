import LMDBCaching
import TestSupport

/// A writer's `number`-th operation, which follows from the seed: the acknowledgements determine the contents.
enum KillOperation {
  case set(key: String, size: Int)
  case remove(key: String)
  case removePrefix(String)
  case removeAll
  case batch(sets: [(key: String, size: Int)], removals: [String])
  /// Returns unused disk space, which no reader sees.
  case upkeep

  static let ownKeys = 12
  static let sharedKeys = 4

  static func ownPrefix(_ writer: Int) -> String { "w\(writer)/" }
  static func sharedKey(_ index: Int) -> String { "shared/\(index)" }
  /// Two keys that only batches write, always together.
  static func pair(_ writer: Int) -> [String] { [0, 1].map { "\(ownPrefix(writer))pair/\($0)" } }

  init(number: Int, _ load: KillLoad) {
    var random = SeededRandom(load.seed ^ UInt64(load.writer) << 40 ^ UInt64(number))
    func own(_ random: inout SeededRandom) -> String {
      // Three groups, so that prefix removals have targets.
      let index = random.below(Self.ownKeys)
      return "\(Self.ownPrefix(load.writer))\(index % 3)/\(index)"
    }
    func size(_ random: inout SeededRandom) -> Int { random.below(4) == 0 ? load.size : random.below(load.size) }
    switch random.below(100) {
    case 0..<55: self = .set(key: own(&random), size: size(&random))
    case 55..<75: self = .set(key: Self.sharedKey(random.below(Self.sharedKeys)), size: size(&random))
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
    default: self = .set(key: own(&random), size: load.size)
    }
  }

  func apply(to cache: LMDBCache, _ value: KillValue) throws {
    switch self {
    case .set(let key, let size): try cache.set(value.text(key: key, size: size), forKey: key)
    case .remove(let key): try cache.removeValue(forKey: key)
    case .removePrefix(let prefix): try cache.removeAll(.prefix(prefix))
    case .removeAll: try cache.removeAll()
    case .batch(let sets, let removals):
      try cache.write { batch in
        for (key, size) in sets { batch.set(value.text(key: key, size: size), forKey: key) }
        for key in removals { batch.removeValue(forKey: key) }
      }
    case .upkeep:
      try cache.sweepValues()
      try cache.giveBackSpace()
    }
  }

  func apply(to state: inout KillState, _ value: KillValue) {
    switch self {
    case .set(let key, _): state.last[key] = .some(value)
    case .remove(let key): state.last[key] = .some(nil)
    case .removePrefix(let prefix):
      for key in state.last.keys where key.hasPrefix(prefix) { state.last[key] = .some(nil) }
    case .removeAll:
      for key in state.last.keys { state.last[key] = .some(nil) }
      state.clears += 1
    case .batch(let sets, let removals):
      for (key, _) in sets { state.last[key] = .some(value) }
      for key in removals { state.last[key] = .some(nil) }
    case .upkeep: break
    }
  }
}
