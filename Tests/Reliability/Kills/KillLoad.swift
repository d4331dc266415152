import Foundation
import LMDBCaching
import Logging
import TestSupport

/// The configuration and the writes of one cycle's processes.
struct KillLoad: Codable {
  var directory: String
  var durability: UInt8
  var interval: Int
  var journal: Int
  var threshold: Int
  var memoryCount: Int
  /// The largest value, in bytes.
  var size: Int
  var clears: Bool
  var seed: UInt64
  /// The writer's number, unique in a trial.
  var writer = 0

  static func random(_ random: inout SeededRandom, directory: String, durability: Durability) -> KillLoad {
    KillLoad(
      directory: directory, durability: durability.rawValue, interval: [0, 1, 5, 50, 86_400_000][random.below(5)],
      journal: [64 << 10, 64 << 10, 256 << 10, 4 << 20][random.below(4)],
      threshold: [1 << 20, 4_096, 1_000][random.below(3)], memoryCount: [Int.max, 0, 5][random.below(3)],
      size: [40, 300, 3_000, 12_000, 40_000][random.below(5)], clears: random.below(4) == 0, seed: random.next())
  }

  var title: String {
    "durability \(durability), interval \(interval) ms, journal \(journal), threshold \(threshold), size \(size), "
      + "clears \(clears)"
  }

  var text: String {
    get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
  }

  init(_ text: String) throws { self = try JSONDecoder().decode(KillLoad.self, from: Data(text.utf8)) }

  private init(
    directory: String, durability: UInt8, interval: Int, journal: Int, threshold: Int, memoryCount: Int, size: Int,
    clears: Bool, seed: UInt64
  ) {
    self.directory = directory
    self.durability = durability
    self.interval = interval
    self.journal = journal
    self.threshold = threshold
    self.memoryCount = memoryCount
    self.size = size
    self.clears = clears
    self.seed = seed
  }

  func open() throws(CacheError) -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.durability = Durability(rawValue: durability)!
    configuration.disk.groupCommitInterval = .milliseconds(interval)
    configuration.disk.journalSize = journal
    configuration.disk.inlineThreshold = threshold
    configuration.disk.valueSegmentSize = 256 << 10
    configuration.memory.countLimit = memoryCount
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "trial", factory: { _ in SwiftLogNoOpLogHandler() })
    return try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration)
  }
}
