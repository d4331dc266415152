package import Foundation

/// Where caches with a name are.
package enum CachesDirectory {
  static func url(named name: String) throws(CacheError) -> URL {
    guard !name.isEmpty, name != ".", name != "..", !name.contains("/"), !name.utf8.contains(0) else {
      throw CacheError(.invalidArgument, "A cache's name is one path component, and \(quoted(name)) is not.")
    }
    return base.appendingPathComponent(name, isDirectory: true)
  }

  package static var base: URL {
    #if os(Linux)
      // The XDG base directory specification: relative paths are to be ignored.
      let environment = ProcessInfo.processInfo.environment
      if let path = environment["XDG_CACHE_HOME"], path.hasPrefix("/") { return URL(fileURLWithPath: path) }
      return URL(fileURLWithPath: NSHomeDirectory()).appendingPathComponent(".cache", isDirectory: true)
    #else
      return FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0]
    #endif
  }
}
