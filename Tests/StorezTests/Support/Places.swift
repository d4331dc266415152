import Foundation
import LMDBCaching
import Logging
import Storez

/// User defaults in a suite that is removed with the object.
final class TemporarySuite: Sendable {
  let suite = "storez-test-" + UUID().uuidString
  let store: UserDefaultsStore

  init() { store = UserDefaultsStore(suite: suite) }

  deinit {
    store.clear()
    store.defaults.removePersistentDomain(forName: suite)
    _ = store.defaults.synchronize()
    // Foundation removes an empty suite's file, but not the copy.
    let configuration = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? NSHomeDirectory() + "/.config"
    try? FileManager.default.removeItem(atPath: configuration + "/.\(suite).plist.copy")
  }
}

/// A cache in a temporary directory, removed with the object.
final class TemporaryCache: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("storez-test-" + UUID().uuidString)
  let cache: LMDBCache
  let store: LMDBStore

  init() throws {
    cache = try Self.open(url)
    store = LMDBStore(cache: cache)
  }

  static func open(_ url: URL) throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    return try LMDBCache(directory: url, configuration: configuration)
  }

  deinit {
    try? cache.close()
    try? FileManager.default.removeItem(at: url)
  }
}
