import LMDBCaching
import Logging

/// The cache's configuration, which follows from the seed.
struct ModelConfiguration {
  let seed: UInt64

  var isLimited: Bool { seed % 4 == 3 }
  var isTransforming: Bool { seed % 5 == 1 }

  func make(_ clock: CacheClock) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "model", factory: { _ in SwiftLogNoOpLogHandler() })
    configuration.clock = clock
    configuration.disk.journalSize = 64 << 10
    configuration.disk.inlineThreshold = 6_000
    configuration.disk.valueSegmentSize = 64 << 10
    configuration.memory.countLimit = [Int.max, 0, 1, 4][Int(seed / 2 % 4)]
    configuration.memory.costLimit = seed % 7 == 2 ? 5_000 : .max
    configuration.durability = seed % 5 == 0 ? .fast : .ordered
    if seed % 3 == 0 { configuration.disk.groupCommitInterval = .seconds(86_400) }
    if isTransforming { configuration.valueTransforms = [ModelTransform()] }
    if isLimited {
      configuration.disk.countLimit = 9
      configuration.disk.costLimit = 40_000
      configuration.disk.ageLimit = .seconds(600)
    }
    return configuration
  }
}
