package import Foundation

/// Where caches with a name are: see ``LMDBCache/init(name:in:configuration:)``.
public enum UserDirectory: Sendable, CaseIterable {
  /// For what can be made again: the user, or the system, may remove it at any time. `$XDG_CACHE_HOME` or `~/.cache` on
  /// Linux, `Library/Caches` on Apple platforms.
  case caches
  /// For what is to stay, settings say. `$XDG_DATA_HOME` or `~/.local/share` on Linux, `Library/Application Support` on
  /// Apple platforms.
  case data

  package var url: URL {
    #if os(Linux)
      url(in: ProcessInfo.processInfo.environment)
    #else
      FileManager.default.urls(
        for: self == .caches ? .cachesDirectory : .applicationSupportDirectory, in: .userDomainMask)[0]
    #endif
  }

  #if os(Linux)
    /// By the XDG base directory specification: relative paths are to be ignored.
    package func url(in environment: [String: String]) -> URL {
      let (variable, standard) =
        switch self {
        case .caches: ("XDG_CACHE_HOME", ".cache")
        case .data: ("XDG_DATA_HOME", ".local/share")
        }
      if let path = environment[variable], path.hasPrefix("/") { return URL(fileURLWithPath: path, isDirectory: true) }
      return URL(fileURLWithPath: NSHomeDirectory()).appendingPathComponent(standard, isDirectory: true)
    }
  #endif

  func url(named name: String) throws(CacheError) -> URL {
    guard !name.isEmpty, name != ".", name != "..", !name.contains("/"), !name.utf8.contains(0) else {
      throw CacheError(.invalidArgument, "A cache's name is one path component, and \(quoted(name)) is not.")
    }
    return url.appendingPathComponent(name, isDirectory: true)
  }
}

extension CacheConfiguration {
  /// What is to stay is not dropped to keep a limit that nobody has asked for.
  static func standard(in place: UserDirectory) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    if place == .data { configuration.disk = .unlimited }
    return configuration
  }
}
