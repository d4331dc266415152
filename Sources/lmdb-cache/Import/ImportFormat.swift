import ArgumentParser
import Foundation
import LMDBCachingImport

/// What `import --from` takes.
enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
  case yycache, mmkv, files, userdefaults, pincache

  /// What is at a path, or, of user defaults, what has this name.
  func source(_ path: String, types: MMKVTypes) -> ImportSource {
    let url = URL(fileURLWithPath: path)
    return switch self {
    case .yycache: .yyCache(directory: url)
    case .mmkv: .mmkv(file: url, types: types)
    case .files: .files(in: url)
    case .pincache: .pinCache(directory: url)
    case .userdefaults:
      path.contains("/") || path.hasSuffix(".plist") ? .userDefaults(file: url) : .userDefaults(named: path)
    }
  }
}
