package import Foundation
import Platform

/// Where the named caches of a program are: see ``LMDBCache/init(name:in:configuration:)``.
public enum UserDirectory: Sendable, CaseIterable {
  /// For data that can be made again, which the user or the system may remove at any time. `$XDG_CACHE_HOME` or
  /// `~/.cache` on Linux, `Library/Caches` on Apple platforms.
  case caches
  /// For data to keep, such as settings. `$XDG_DATA_HOME` or `~/.local/share` on Linux, `Library/Application Support` on
  /// Apple platforms.
  case data

  /// The directory, which all programs share.
  package var url: URL {
    #if os(Linux)
      URL(fileURLWithPath: (self == .caches ? BaseDirectory.caches : .data).path(), isDirectory: true)
    #else
      FileManager.default.urls(
        for: self == .caches ? .cachesDirectory : .applicationSupportDirectory, in: .userDomainMask)[0]
    #endif
  }

  /// The home directory of the user.
  package static var homePath: String { BaseDirectory.home() }

  /// The name of the program's own directory in each of them.
  package static var program: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

  func url(named name: String) throws(CacheError) -> URL {
    for name in [Self.program, name] {
      guard !name.isEmpty, name != ".", name != "..", !name.contains("/"), !name.utf8.contains(0) else {
        throw CacheError(.invalidArgument, "The name of a cache must be one path component, but is \(quoted(name)).")
      }
    }
    return url.appendingPathComponent(Self.program, isDirectory: true).appendingPathComponent(name, isDirectory: true)
  }
}

extension LMDBCache {
  /// The name of the cache in ``UserDirectory/data`` that properties and stores use if they name none.
  package static let defaultName = "EFStorage"
}

extension CacheConfiguration {
  /// What is to stay is not dropped to keep a limit that nobody has asked for.
  static func standard(in place: UserDirectory) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    if place == .data { configuration.disk = .unlimited }
    return configuration
  }
}
