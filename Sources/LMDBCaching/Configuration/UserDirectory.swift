package import Foundation
import Platform

/// The place of a program's named caches: see ``LMDBCache/init(name:in:configuration:)``.
public enum UserDirectory: Sendable, CaseIterable {
  /// For data that can be rebuilt, which the user or the system may remove at any time. `$XDG_CACHE_HOME` or `~/.cache`
  /// on Linux, `Library/Caches` on Apple platforms.
  case caches
  /// For data to keep, such as settings. `$XDG_DATA_HOME` or `~/.local/share` on Linux, `Library/Application Support`
  /// on Apple platforms.
  case data

  /// The directory that all programs share.
  package var url: URL {
    #if os(Linux)
      URL(fileURLWithPath: (self == .caches ? BaseDirectory.caches : .data).path(), isDirectory: true)
    #else
      FileManager.default.urls(
        for: self == .caches ? .cachesDirectory : .applicationSupportDirectory, in: .userDomainMask)[0]
    #endif
  }

  package static var homePath: String { BaseDirectory.home() }

  /// The name of the program's directory in each of them.
  package static var program: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

  /// The default cache of properties and stores, in ``data``.
  package static let defaultName = "EFStorage"

  func url(named name: String) throws(CacheError) -> URL {
    for name in [Self.program, name] {
      guard !name.isEmpty, name != ".", name != "..", !name.contains("/"), !name.utf8.contains(0) else {
        throw CacheError(.invalidArgument, "The name of a cache must be one path component, but is \(quoted(name)).")
      }
    }
    return url.appendingPathComponent(Self.program, isDirectory: true).appendingPathComponent(name, isDirectory: true)
  }
}

extension CacheConfiguration {
  /// Data to keep is not evicted by default.
  static func standard(in place: UserDirectory) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    if place == .data { configuration.disk = .unlimited }
    return configuration
  }
}
