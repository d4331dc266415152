import Foundation
import LMDBCaching

/// Which directory the argument of `--cache` means.
enum CacheLocation {
  /// What holds a slash, `.` and `..` are paths; anything else is a name in the user's caches directory, as
  /// `LMDBCache(name:)` takes it.
  static func directory(_ argument: String) throws(ToolError) -> URL {
    if argument.isEmpty { throw ToolError(.usage, "--cache is empty; give a path or a name.") }
    if argument.contains("/") || argument == "." || argument == ".." { return URL(fileURLWithPath: argument) }
    return CachesDirectory.base.appendingPathComponent(argument, isDirectory: true)
  }
}
