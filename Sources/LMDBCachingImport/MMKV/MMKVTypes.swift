import LMDBCaching

/// The types of MMKV's values by their keys: exact ones, or what keys begin with, followed by an asterisk.
///
/// ```swift
/// let types: MMKVTypes = ["launches": .int32, "token": .string, "draft:*": .string]
/// ```
///
/// An exact key goes before a beginning, and a longer beginning before a shorter one. `"*"` is for all others; without it they
/// are ``MMKVType/raw``.
public struct MMKVTypes: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  private var exact: [ByteKey: MMKVType] = [:]
  /// The longest first.
  private var beginnings: [(beginning: ByteKey, type: MMKVType)] = []

  public init() {}

  /// Of several with one key the last one counts.
  public init(dictionaryLiteral elements: (String, MMKVType)...) {
    for (pattern, type) in elements { set(type, for: pattern) }
  }

  /// Gives a type to a key, or to all that begin so if an asterisk is at the end.
  public mutating func set(_ type: MMKVType, for pattern: String) {
    // By scalars: with some of them an asterisk would be one character.
    if pattern.unicodeScalars.last == "*" {
      set(type, forAllWith: String(pattern.unicodeScalars.dropLast()))
    } else {
      set(type, forKey: pattern)
    }
  }

  /// Gives a type to a key, which may end with an asterisk.
  public mutating func set(_ type: MMKVType, forKey key: String) { exact[ByteKey(key)] = type }

  private mutating func set(_ type: MMKVType, forAllWith beginning: String) {
    let key = ByteKey(beginning)
    beginnings.removeAll { $0.beginning == key }
    let place = beginnings.firstIndex { $0.beginning.string.utf8.count < beginning.utf8.count } ?? beginnings.endIndex
    beginnings.insert((key, type), at: place)
  }

  /// The type of the value under a key.
  public func type(of key: String) -> MMKVType {
    exact[ByteKey(key)] ?? beginnings.first { key.utf8.starts(with: $0.beginning.string.utf8) }?.type ?? .raw
  }

  public static func == (first: MMKVTypes, second: MMKVTypes) -> Bool {
    first.exact == second.exact && first.beginnings.elementsEqual(second.beginnings) { $0 == $1 }
  }
}
