import Platform
import Foundation
import Logging

@testable import LMDBCaching

/// A temporary directory for a cache, removed with the object.
final class CacheDirectory: Sendable {
  /// Canonical.
  let path: String

  init(parent: String = FileManager.default.temporaryDirectory.path) {
    path = try! Paths.canonicalPath(parent) + "/lmdb-caching-test-" + UUID().uuidString
    try! Paths.create(path)
  }

  deinit {
    // Restores permissions that a test removed.
    chmod(path, 0o700)
    try? FileManager.default.removeItem(atPath: path)
  }

  var url: URL { URL(fileURLWithPath: path, isDirectory: true) }

  func url(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// The sorted names in the directory or a folder of it.
  func names(in folder: String = "") -> [String] {
    (try! Paths.names(in: path + "/" + folder)).sorted()
  }

  var journals: [String] { names(in: JournalName.folder).map { JournalName.folder + "/" + $0 } }
  var segments: [String] { names(in: ValueFolder.name).map { ValueFolder.name + "/" + $0 } }

  func contents(_ name: String) -> Data { try! Data(contentsOf: url(name)) }

  func write(_ data: Data, to name: String) {
    try! FileManager.default.createDirectory(
      at: url(name).deletingLastPathComponent(), withIntermediateDirectories: true)
    try! data.write(to: url(name))
  }

  /// A copy of the files as a kill now would leave them. No writes may happen meanwhile.
  func crashed(_ cache: LMDBCache) -> CacheDirectory {
    // On the writer thread, so that no commit happens between copying two files.
    try! cache.store.onWriterThread { [self] in .success(copy()) }
  }

  func copy() -> CacheDirectory {
    let copy = CacheDirectory()
    for name in names() where name != "lock.mdb" {
      try! FileManager.default.copyItem(atPath: path + "/" + name, toPath: copy.path + "/" + name)
    }
    return copy
  }

  /// Marks the journals as of an earlier boot, as after a power cut.
  func makeJournalsOlder() {
    for name in journals {
      var journal = contents(name)
      journal.replaceSubrange(40..<56, with: repeatElement(7, count: 16))
      write(journal, to: name)
    }
  }

  #if os(Linux)
    /// Names of the files below it that this process has open, with repeats; the directory itself is "". Deleted files
    /// end in " (deleted)".
    func openFiles() -> [String] {
      let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return descriptors.compactMap {
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0),
          target == path || target.hasPrefix(path + "/")
        else { return nil }
        return String(target.dropFirst(path.count + 1))
      }
    }
  #endif

  /// A configuration for tests: silent, with a small map.
  static func configuration(_ change: (inout CacheConfiguration) -> Void = { _ in }) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    // Tests use costs of their choice.
    configuration.disk = .unlimited
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    change(&configuration)
    return configuration
  }

  func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws(CacheError) -> LMDBCache {
    try LMDBCache(directory: url, configuration: Self.configuration(change))
  }

  func openDisk(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws(CacheError) -> LMDBCache {
    try LMDBCache(directory: url, configuration: Self.configuration(change).withoutMemory)
  }
}

/// A configuration that commits only on request.
func neverCommitting(_ configuration: inout CacheConfiguration) {
  configuration.disk.groupCommitInterval = .seconds(86_400)
}

/// The code of the error that `body` throws, or nil.
func errorCode<R>(_ body: () throws -> R) -> CacheError.Code? {
  do {
    _ = try body()
    return nil
  } catch let error as CacheError {
    return error.code
  } catch {
    return CacheError.Code.storageFailed
  }
}

/// The code of the error that the asynchronous `body` throws, or nil.
func errorCode<R>(_ body: () async throws -> R) async -> CacheError.Code? {
  do {
    _ = try await body()
    return nil
  } catch {
    return (error as? CacheError)?.code ?? .storageFailed
  }
}
