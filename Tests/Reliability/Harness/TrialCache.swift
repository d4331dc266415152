import Foundation
import LMDBCaching
import Logging

enum TrialCache {
  /// The names of a cache's own files in its directory, lasting or for a moment.
  static let fileNames: Set = [
    "clean-exit", "data.mdb", "fast-session", "fast-session.new", "journals", "lock.mdb", "new", "processes.lock",
    "statistics", "values",
  ]

  static func open(_ path: String, _ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "trial", factory: { _ in SwiftLogNoOpLogHandler() })
    change(&configuration)
    return try LMDBCache(directory: URL(fileURLWithPath: path, isDirectory: true), configuration: configuration)
  }
}
