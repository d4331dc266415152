import EFStorageLMDBCache
import Foundation
import Logging
import TestSupport

/// A temporary directory for caches, removed with the object.
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

/// User defaults in a suite that is removed with the object.
final class TemporaryDefaults: @unchecked Sendable {  // Sendable: UserDefaults locks for itself.
  let suite = "efstorage-test-" + UUID().uuidString
  let defaults: UserDefaults

  init() { defaults = UserDefaults(suiteName: suite)! }

  deinit {
    defaults.removePersistentDomain(forName: suite)
    for key in defaults.dictionaryRepresentation().keys { defaults.removeObject(forKey: key) }
    _ = defaults.synchronize()
    // Foundation removes an empty suite's file, but not the copy.
    let configuration = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? NSHomeDirectory() + "/.config"
    try? FileManager.default.removeItem(atPath: configuration + "/.\(suite).plist.copy")
  }
}

/// Collects the reported failures during its lifetime. Failed conversions do not stop the tests.
final class Failures: Sendable {
  private let failures = Guarded<[EFStorageFailure]>([])
  private let observation: EFStorageFailure.Observation

  /// - Parameter key: Restricts it to this key; nil: all.
  init(of key: String? = nil) {
    EFStorageFailure.trapsOnConversionFailureInDebugBuilds = false
    let failures = failures
    observation = EFStorageFailure.observe { failure in
      if key == nil || failure.key == key { failures { $0.append(failure) } }
    }
  }

  var all: [EFStorageFailure] { failures.current }
  var kinds: [EFStorageFailure.Kind] { all.map(\.kind) }
}
