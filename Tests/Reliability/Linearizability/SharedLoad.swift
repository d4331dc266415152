import Foundation
import LMDBCaching
import Logging

/// One round: how many processes and threads run how many operations, and the cache's configuration.
struct SharedLoad: Codable {
  var directory: String
  var process = 0
  var threads: Int
  var operations: Int
  var seed: UInt64
  var durability: UInt8
  var interval: Int
  var memoryCount: Int
  var output = ""

  var configuration: CacheConfiguration {
    var configuration = CacheConfiguration()
    configuration.durability = Durability(rawValue: durability)!
    configuration.disk.groupCommitInterval = .milliseconds(interval)
    configuration.memory.countLimit = memoryCount
    configuration.disk.inlineThreshold = 8_000
    // Small enough for sparse segments that get emptied.
    configuration.disk.valueSegmentSize = 192 << 10
    configuration.disk.journalSize = 256 << 10
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "trial", factory: { _ in SwiftLogNoOpLogHandler() })
    return configuration
  }

  // Plain keys hold numbers. Then a long key, one with its value in the value log, and two pairs written together.
  static let plain = 0..<6
  static let list = 6
  static let file = 7
  static let pairs = [8, 10]
  /// Keys changed only by updates: a number, a long list, and a counter.
  static let cell = 12
  static let longCell = 13
  static let counter = 14
  /// A pair with values in the value log. Some of its batches exceed a journal segment.
  static let longPair = 15
  /// A key that always has a tag, and is removed only by it.
  static let tagged = 17
  static let tag = "tag"
  static let box = 18
  static let names = (0..<19).map { "key\($0)" }

  /// Enlarge a batch; never read.
  static let fillers = (0..<60).map { "filler\($0)" }
}
