import LMDBCaching
import Logging

/// How the cache of a seed is opened: follows from the seed.
struct ModelConfiguration {
  let seed: UInt64

  /// Whether the disk tier has limits, so that entries may be evicted.
  var isLimited: Bool { seed % 4 == 3 }
  var isTransforming: Bool { seed % 5 == 1 }

  func make(_ clock: ManualClock) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    configuration.mapSize = 1 << 30
    configuration.logger = Logger(label: "model", factory: { _ in SwiftLogNoOpLogHandler() })
    configuration.clock = .manual(clock)
    configuration.journalSize = 64 << 10
    configuration.inlineThreshold = 6_000
    configuration.memoryCountLimit = [Int.max, 0, 1, 4][Int(seed / 2 % 4)]
    configuration.memoryCostLimit = seed % 7 == 2 ? 5_000 : .max
    configuration.durability = seed % 5 == 0 ? .fast : .ordered
    if seed % 3 == 0 { configuration.groupCommitInterval = .seconds(86_400) }
    if isTransforming { configuration.valueTransforms = [ModelTransform()] }
    if isLimited {
      configuration.diskCountLimit = 9
      configuration.diskCostLimit = 40_000
      configuration.diskAgeLimit = .seconds(600)
    }
    return configuration
  }
}
