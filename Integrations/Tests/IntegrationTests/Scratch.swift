import Foundation
import LMDBCaching
import Logging

/// A temporary cache directory, removed with the object.
final class Scratch: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("integration-test-\(UUID())")

  deinit { try? FileManager.default.removeItem(at: url) }

  func cache(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    change(&configuration)
    return try LMDBCache(directory: url, configuration: configuration)
  }
}
