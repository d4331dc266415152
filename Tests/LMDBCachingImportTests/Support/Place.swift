import Foundation
import LMDBCaching
import LMDBCachingImport
import Logging
import Testing

/// A temporary directory, removed with the object.
final class Place: Sendable {
  let url: URL

  init() {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("lmdb-import-test-" + UUID().uuidString)
    try! FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The place of the store to import.
  var store: URL { url.appendingPathComponent("store") }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  func cache(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    change(&configuration)
    return try LMDBCache(directory: url.appendingPathComponent("cache"), configuration: configuration)
  }

  /// Writes a file, and creates its parent directories.
  @discardableResult
  func write(_ bytes: some Sequence<UInt8>, to name: String, modified: Date? = nil) throws -> String {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file)
    if let modified {
      try FileManager.default.setAttributes([.modificationDate: modified], ofItemAtPath: file.path)
    }
    return file.path
  }
}

/// The code of the error that an import throws, or nil.
func importErrorCode<R>(_ body: () throws -> R) -> ImportError.Code? { importError(body)?.code }

func importError<R>(_ body: () throws -> R) -> ImportError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? ImportError ?? ImportError(.cacheFailed, "\(error)")
  }
}

/// The refusal reasons by key.
func reasons(_ report: ImportReport) -> [String: ImportRefusal.Reason] {
  Dictionary(report.refusals.map { ($0.key, $0.reason) }, uniquingKeysWith: { first, _ in first })
}
