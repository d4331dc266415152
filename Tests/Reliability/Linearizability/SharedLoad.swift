import Foundation
import LMDBCaching
import Logging

/// One round of the history: how many processes and threads do how much, and how the cache is opened.
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
    // So long that some become sparse, and are emptied.
    configuration.disk.valueSegmentSize = 192 << 10
    configuration.disk.journalSize = 256 << 10
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "trial", factory: { _ in SwiftLogNoOpLogHandler() })
    return configuration
  }

  // Keys: numbers, one that is long, one whose value is in the value log, and two pairs that are written as one.
  static let plain = 0..<6
  static let list = 6
  static let file = 7
  static let pairs = [8, 10]
  /// Keys that are changed by updates only: a number, a long list, and a counter.
  static let cell = 12
  static let longCell = 13
  static let counter = 14
  /// A pair whose values are in the value log. Some of its batches are larger than any segment of the journal.
  static let longPair = 15
  /// A key that always has a tag, and is removed by that alone.
  static let tagged = 17
  static let tag = "tag"
  /// A key under which something is put where nothing is, and taken.
  static let box = 18
  static let names = (0..<19).map { "key\($0)" }

  /// What makes such a batch so large; nobody reads it.
  static let fillers = (0..<60).map { "filler\($0)" }
}
