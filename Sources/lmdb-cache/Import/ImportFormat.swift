import ArgumentParser
import Foundation
import LMDBCachingImport

enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
  case yycache, mmkv, files, userdefaults, pincache, jsonl, cbor

  /// The format of an export; `nil` for other stores.
  var exchange: ExchangeFormat? { ExchangeFormat(rawValue: rawValue) }

  /// The source at a path, or the user defaults with this name; `nil` for exports.
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
