import EFStorageLMDBCache
import Foundation
import Logging

/// A directory with caches in it, which goes away with the object.
final class TemporaryDirectory: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("efstorage-test-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func cache(_ name: String = "cache", _ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 28
    configuration.logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    change(&configuration)
    return try LMDBCache(directory: url.appendingPathComponent(name), configuration: configuration)
  }
}

/// Defaults of their own, removed with the object.
final class TemporaryDefaults: @unchecked Sendable {  // Sendable: UserDefaults locks for itself.
  let suite = "efstorage-test-" + UUID().uuidString
  let defaults: UserDefaults

  init() { defaults = UserDefaults(suiteName: suite)! }

  deinit {
    defaults.removePersistentDomain(forName: suite)
    for key in defaults.dictionaryRepresentation().keys { defaults.removeObject(forKey: key) }
    _ = defaults.synchronize()
    // Foundation removes the file of an empty suite; the copy stays.
    let configuration = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? NSHomeDirectory() + "/.config"
    try? FileManager.default.removeItem(atPath: configuration + "/.\(suite).plist.copy")
  }
}
