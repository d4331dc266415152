import ArgumentParser
import Foundation
import LMDBCachingImport

/// What `import --from` takes.
enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
  case yycache, mmkv, files, userdefaults, pincache, jsonl, cbor

  /// What `export` wrote; `nil` for other stores.
  var exchange: ExchangeFormat? { ExchangeFormat(rawValue: rawValue) }

  /// What is at a path, or, of user defaults, what has this name; `nil` for what `export` wrote.
  func source(_ path: String, types: MMKVTypes) -> ImportSource? {
    let url = URL(fileURLWithPath: path)
    return switch self {
    case .yycache: .yyCache(directory: url)
    case .mmkv: .mmkv(file: url, types: types)
    case .files: .files(in: url)
    case .pincache: .pinCache(directory: url)
    case .jsonl, .cbor: nil
    case .userdefaults:
      path.contains("/") || path.hasSuffix(".plist") ? .userDefaults(file: url) : .userDefaults(named: path)
    }
  }
}
