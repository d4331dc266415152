import Foundation
import Storez

/// Converts for every store. Words with a semicolon cannot be stored, and text that starts with one cannot be read.
struct Words: Equatable, Sendable {
  var words: [String]

  private var text: String? { words.contains { $0.contains(";") } ? nil : words.joined(separator: ";") }

  private init?(text: String) {
    if text.hasPrefix(";") { return nil }
    words = text.components(separatedBy: ";")
  }

  init(_ words: String...) { self.words = words }
}

extension Words: UserDefaultsConvertible {
  static func decode(userDefaultsValue value: NSString) -> Words? { Words(text: String(describing: value)) }
  var encodeForUserDefaults: NSString? { text.map { NSString(string: $0) } }
}

extension Words: CacheConvertible {
  // Any object can be in a cache.
  static func decode(cacheValue value: AnyObject) -> Words? { Words(text: String(describing: value)) }
  var encodeForCache: AnyObject? { text.map { NSString(string: $0) } }
}

extension Words: LMDBConvertible {
  static func decode(lmdbValue value: String) -> Words? { Words(text: value) }
  var encodeForLMDB: String? { text }
}
