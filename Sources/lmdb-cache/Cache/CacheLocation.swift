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
}
