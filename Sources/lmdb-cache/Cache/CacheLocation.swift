import Foundation

/// Which directory the argument of `--cache` means.
enum CacheLocation {
  /// What holds a slash, `.` and `..` are paths; anything else is a name in the user's caches directory, as
  /// `LMDBCache(name:)` takes it.
  static func directory(_ argument: String) throws(ToolError) -> URL {
    if argument.isEmpty { throw ToolError(.usage, "--cache is empty; give a path or a name.") }
    if argument.contains("/") || argument == "." || argument == ".." { return URL(fileURLWithPath: argument) }
    return caches.appendingPathComponent(argument, isDirectory: true)
  }

  private static var caches: URL {
    #if os(Linux)
      let environment = ProcessInfo.processInfo.environment
      if let path = environment["XDG_CACHE_HOME"], path.hasPrefix("/") { return URL(fileURLWithPath: path) }
      return URL(fileURLWithPath: NSHomeDirectory()).appendingPathComponent(".cache", isDirectory: true)
    #else
      return FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0]
    #endif
  }
}
