import Foundation
import LMDB

/// A temporary directory, removed with the object.
final class TemporaryDirectory: Sendable {
  /// Canonical.
  let path: String

  init() {
    let parent = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    path = parent.appendingPathComponent("lmdb-test-" + UUID().uuidString).path
    try! FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func makeDirectory(_ name: String) -> String {
    let directory = path + "/" + name
    precondition(mkdir(directory, 0o700) == 0)
    return directory
  }

  /// Opens a small environment in it, or in a folder of it.
  func open(
    _ folder: String = "", _ change: (inout Environment.Options) -> Void = { _ in }
  ) throws(LMDBError) -> Environment {
    var options = Environment.Options()
    options.mapSize = 64 << 20
    options.syncMode = .noSync
    change(&options)
    return try Environment.open(directory: folder.isEmpty ? path : path + "/" + folder, options: options)
  }

  /// The number of open files in it; always 0 without `/proc`.
  var openFiles: Int {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return descriptors.count {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0))?.hasPrefix(path + "/") == true
    }
  }
}
