import Foundation

/// NSCache. Its keys are objects: they are made before the time is taken.
// Unchecked: NSCache may be used by any thread, as its documentation says.
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
