import Foundation
import LMDBCaching

/// Which directory the argument of `--cache` means.
enum CacheLocation {
  /// What holds a slash, `.` and `..` are paths; anything else is a name, as `LMDBCache(name:in:)` takes it: in the user's
  /// caches directory, or in that for data if it is only there.
  static func directory(_ argument: String) throws(ToolError) -> URL {
    if argument.isEmpty { throw ToolError(.usage, "--cache is empty; give a path or a name.") }
    if argument.contains("/") || argument == "." || argument == ".." { return URL(fileURLWithPath: argument) }
    let places = [UserDirectory.caches, .data].map { $0.url.appendingPathComponent(argument, isDirectory: true) }
    return places.first { FileManager.default.fileExists(atPath: $0.path) } ?? places[0]
  }

  /// The same for a cache that has to be there.
  static func existing(_ argument: String) throws(ToolError) -> URL {
    let directory = try directory(argument)
    // The database is there from the first opening on; a directory without one is not a cache.
    switch Platform.statusError(ofFileAt: directory.path + "/data.mdb") {
    case nil: return directory
    case EACCES: throw ToolError(.noPermission, "permission denied: \(directory.path)")
    default: throw ToolError(.noInput, "there is no cache in \(directory.path)")
    }
  }
}
