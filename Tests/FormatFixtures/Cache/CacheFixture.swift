package import Foundation
package import LMDBCaching

import Logging

/// A cache with entries of every kind, as a killed process leaves it: half committed, half in the journal.
///
/// Releases have written it, so its expectations never change.
package enum CacheFixture {
  package static let date = Date(timeIntervalSince1970: 1_795_500_000)
  /// In 2100.
  package static let farDate = Date(timeIntervalSince1970: 4_102_444_800)

  /// Key prefixes of committed and of journaled entries.
  package static let places = ["committed", "waiting"]

  /// An hour after ``date``.
  package static func laterClock() -> ManualClock {
    let clock = ManualClock(date: date)
    clock.advance(by: .seconds(3_600))
    return clock
  }

  static func configuration() -> CacheConfiguration {
    var configuration = CacheConfiguration()
    configuration.clock = .manual(ManualClock(date: date))
    configuration.disk.mapSize = 1 << 30
    // Commit only on request.
    configuration.disk.groupCommitInterval = .seconds(86_400)
    // Keep the archive small.
    configuration.disk.journalSize = 1 << 18
    configuration.disk.valueSegmentSize = 1 << 20
    configuration.logger = Logger(label: "fixture", factory: { _ in SwiftLogNoOpLogHandler() })
    return configuration
  }

  /// Writes it into an empty directory and returns the open cache. The process must be killed before it closes it.
  package static func write(to directory: URL) throws -> LMDBCache {
    let cache = try LMDBCache(directory: directory, configuration: configuration())
    for value in committed { try value.write(cache) }
    try writeWhatGoes("committed", in: cache)
    for key in earlyKeys { try cache.set("early", forKey: key, tags: key == earlyTaggedKey ? ["early"] : []) }
    try cache.flush()
    for value in waiting { try value.write(cache) }
    try writeWhatGoes("waiting", in: cache)
    try cache.removeValue(forKey: "early:removed")
    try cache.removeAll(.prefix("early:folder:"))
    try cache.removeAll(.tag("early"))
    return cache
  }

  // MARK: What is not there any more

  private static let earlyTaggedKey = "early:tagged"
  private static let earlyKeys = [
    "early:overwritten", "early:removed", "early:folder:1", "early:folder:2", earlyTaggedKey,
  ]

  package static let goneKeys: [String] = {
    var keys = Array(earlyKeys.dropFirst())
    for place in places {
      for name in ["removed", "removed by a batch", "gone:1", "gone:2", "dropped", "expired"] {
        keys.append("\(place):\(name)")
      }
    }
    return keys
  }()

  /// Keys cached as absent, until 100 days after ``date``.
  package static let absentKeys = places.map { "\($0):absent" }

  private static func writeWhatGoes(_ place: String, in cache: LMDBCache) throws {
    try cache.set("gone", forKey: "\(place):removed")
    try cache.removeValue(forKey: "\(place):removed")
    try cache.set("gone", forKey: "\(place):removed by a batch")
    try cache.write { batch in batch.removeValue(forKey: "\(place):removed by a batch") }
    for number in 1...2 { try cache.set(number, forKey: "\(place):gone:\(number)") }
    try cache.removeAll(.prefix("\(place):gone:"))
    try cache.set("gone", forKey: "\(place):dropped", tags: ["\(place):dropped", "shared"])
    try cache.removeAll(.tag("\(place):dropped"))
    try cache.set("gone", forKey: "\(place):expired", expires: .after(.seconds(60)))
    var options = LoadOptions()
    options.absenceLifetime = .seconds(lifetime)
    _ = try cache.optionalValue(String.self, forKey: "\(place):absent", options: options) { _ in nil }
  }
}
