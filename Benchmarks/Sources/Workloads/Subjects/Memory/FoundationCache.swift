import Foundation

/// NSCache, with key objects that are made before the timing.
// Unchecked: NSCache is documented as thread-safe.
final class FoundationCache: MemorySubject, @unchecked Sendable {
  static let name = "Foundation.NSCache"
  private let values = NSCache<NSString, Payload>()

  /// Immutable, as NSString is.
  struct Key: @unchecked Sendable {
    let text: NSString
  }

  init(capacity: Int?, _ setting: Setting) { values.countLimit = capacity ?? 0 }

  static func key(_ text: String) -> Key {
    Key(text: NSString(string: String(decoding: Array(text.utf8), as: UTF8.self)))
  }

  func number(forKey key: Key) -> Int? { values.object(forKey: key.text)?.number }

  func set(_ value: Payload, forKey key: Key) { values.setObject(value, forKey: key.text) }
}
