import Platform
import Foundation
import Logging

@testable import LMDBCaching

/// A directory for a cache, which goes away with the object.
final class CacheDirectory: Sendable {
  /// Canonical.
  let path: String

  init() {
    let parent = FileManager.default.temporaryDirectory.path
    path = try! Paths.canonicalPath(parent) + "/lmdb-caching-test-" + UUID().uuidString
    try! Paths.create(path)
  }

  deinit {
    // What a test took away is given back first.
    chmod(path, 0o700)
    try? FileManager.default.removeItem(atPath: path)
  }

  var url: URL { URL(fileURLWithPath: path, isDirectory: true) }

  func url(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// The names in it, or in a folder of it, sorted.
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

  /// A copy of the files as the process would leave them if it were killed now. Nobody may write meanwhile.
  func crashed(_ cache: LMDBCache) -> CacheDirectory {
    // In turn with commits: a copy of one file before and another one after a commit is nothing a crash leaves.
    try! cache.store.onWriterThread { [self] in .success(copy()) }
  }

  func copy() -> CacheDirectory {
    let copy = CacheDirectory()
    for name in names() where name != "lock.mdb" {
      try! FileManager.default.copyItem(atPath: path + "/" + name, toPath: copy.path + "/" + name)
    }
    return copy
  }

  /// Makes the journals ones of another run of the system, as after a power cut.
  func makeJournalsOlder() {
    for name in journals {
      var journal = contents(name)
      journal.replaceSubrange(40..<56, with: repeatElement(7, count: 16))
      write(journal, to: name)
    }
  }

  #if os(Linux)
    /// The names of the files in it that this process has open, as often as it has; its own is empty. One that was removed
    /// ends in " (deleted)".
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
    // Tests have costs of their own.
    configuration.disk = .unlimited
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    change(&configuration)
    return configuration
  }

  func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws(CacheError) -> LMDBCache {
    try LMDBCache(directory: url, configuration: Self.configuration(change))
  }

  func openDisk(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws(CacheError) -> DiskCache {
    try DiskCache(directory: url, configuration: Self.configuration(change))
  }
}

/// A configuration in which nothing is committed before it is asked for.
func neverCommitting(_ configuration: inout CacheConfiguration) {
  configuration.disk.groupCommitInterval = .seconds(86_400)
}

/// The code of the error that `body` throws; nil: none.
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

/// The same for tasks.
func errorCode<R>(_ body: () async throws -> R) async -> CacheError.Code? {
  do {
    _ = try await body()
    return nil
  } catch {
    return (error as? CacheError)?.code ?? .storageFailed
  }
}
