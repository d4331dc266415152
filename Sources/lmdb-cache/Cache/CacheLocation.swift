import Foundation
import LMDBCaching

/// Resolves the argument of `--cache`.
enum CacheLocation {
  /// A cache's directory: `argument` itself if it has a slash or is `.` or `..`, otherwise the cache of any program
  /// with that name. An unknown name is that of a new cache of this tool.
  static func directory(_ argument: String) throws(ToolError) -> URL {
    if argument.isEmpty { throw ToolError(.usage, "--cache is empty; give a path or a name.") }
    if argument.contains("/") || argument == "." || argument == ".." { return URL(fileURLWithPath: argument) }
    let found = named.filter { $0.lastPathComponent == argument }
    guard found.count < 2 else {
      throw ToolError(
        .usage, "several programs have a cache \(argument); give a path: \(found.map(\.path).joined(separator: ", "))")
    }
    return found.first
      ?? UserDirectory.caches.url.appendingPathComponent("\(UserDirectory.program)/\(argument)", isDirectory: true)
  }

  /// The directories of the user's named caches: `<place>/<program>/<name>`.
  static var named: [URL] {
    UserDirectory.allCases.map(\.url).flatMap { contents(of: $0) }.flatMap { contents(of: $0) }
      .filter { Platform.statusError(ofFileAt: $0.path + "/data.mdb") == nil }
  }

  /// Unreadable directories contain no caches of this user.
  private static func contents(of directory: URL) -> [URL] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
    return (names ?? []).sorted().map { directory.appendingPathComponent($0, isDirectory: true) }
  }

  /// The directory of an existing cache.
  static func existing(_ argument: String) throws(ToolError) -> URL {
    let directory = try directory(argument)
    // Every opened cache has a database; a directory without one is not a cache.
    switch Platform.statusError(ofFileAt: directory.path + "/data.mdb") {
    case nil: return directory
    case EACCES: throw ToolError(.noPermission, "permission denied: \(directory.path)")
    default: throw ToolError(.noInput, "there is no cache in \(directory.path)")
    }
  }
}
