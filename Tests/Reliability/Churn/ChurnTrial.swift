import Foundation
import LMDB
import LMDBCaching
import Logging
import TestSupport

/// Replaces a bounded set of entries over and over, while readers come, die and linger.
///
/// LMDB's copy-on-write bounds the file: a commit reuses a page two commits later, unless an open snapshot is older.
/// So the file holds the live pages, and the changed pages of three commits and of every commit made under a snapshot.
/// A dead reader counts as a snapshot until its slot is freed, which is checked every second.
package enum ChurnTrial: Trial {
  package static let name = "churn"
  package static let summary =
    "Entries are replaced while readers die and linger: the file's size stays within its bound."
  package static let defaultCount = 3_000_000

  static let keys = 2_000
  static func key(_ index: Int) -> String { "entry/\(index)" }

  static func configuration(durability: String) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    configuration.durability = Durability(rawValue: UInt8(durability)!)!
    configuration.disk.groupCommitInterval = .milliseconds(20)
    configuration.disk.mapSize = 4 << 30
    configuration.disk.journalSize = 4 << 20
    configuration.logger = Logger(label: "trial", factory: { _ in SwiftLogNoOpLogHandler() })
    return configuration
  }

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    let rounds = min(12, max(1, settings.count / 100_000))
    for (index, durability) in [Durability.fast, .ordered].enumerated() {
      let share = settings.count / 2 / rounds
      let session = try ChurnSession(
        settings.directory + "/\(durability)", durability, settings.seed &+ UInt64(index))
      for _ in 0..<rounds {
        try session.churnQuietly(share / 4, &report)
        try session.churnUnderLingeringReader(share / 4, &report)
        try session.killReaders(share / 4, &report)
        try session.churnQuietly(share - share / 4 * 3, &report)
      }
      try session.end(&report)
    }
    return report
  }
}
