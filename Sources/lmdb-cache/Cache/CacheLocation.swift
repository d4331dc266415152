import Foundation
import LMDBCaching

/// Which directory the argument of `--cache` means.
enum CacheLocation {
  /// The directory of a cache: `argument` itself if it has a slash or is `.` or `..`, else the cache of that name, of
  /// whichever program. A name of no cache is that of a new one, of this tool.
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

  /// The directories of the user's caches that have a name: `<place>/<program>/<name>`.
  static var named: [URL] {
    UserDirectory.allCases.map(\.url).flatMap { contents(of: $0) }.flatMap { contents(of: $0) }
      .filter { Platform.statusError(ofFileAt: $0.path + "/data.mdb") == nil }
  }

  /// Directories that cannot be read have no caches of this user.
  private static func contents(of directory: URL) -> [URL] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
    return (names ?? []).sorted().map { directory.appendingPathComponent($0, isDirectory: true) }
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
