import LMDBCaching

/// The types of MMKV values by key: exact keys, or prefixes followed by an asterisk.
///
/// ```swift
/// let types: MMKVTypes = ["launches": .int32, "token": .string, "draft:*": .string]
/// ```
///
/// Exact keys take precedence over prefixes, and longer prefixes over shorter ones. `"*"` is the default, otherwise
/// ``MMKVType/raw``.
public struct MMKVTypes: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  private var exact: [ByteKey: MMKVType] = [:]
  /// Longest first.
  private var beginnings: [(beginning: ByteKey, type: MMKVType)] = []

  public init() {}

  /// The last one wins among equal keys.
  public init(dictionaryLiteral elements: (String, MMKVType)...) {
    for (pattern, type) in elements { set(type, for: pattern) }
  }

  /// Sets the type of a key, or of a prefix if it ends with an asterisk.
  public mutating func set(_ type: MMKVType, for pattern: String) {
    // By scalars, because an asterisk may combine with a following one into one character.
    if pattern.unicodeScalars.last == "*" {
      set(type, forAllWith: String(pattern.unicodeScalars.dropLast()))
    } else {
      set(type, forKey: pattern)
    }
  }

  /// Sets the type of an exact key, which may end with an asterisk.
  public mutating func set(_ type: MMKVType, forKey key: String) { exact[ByteKey(key)] = type }

  private mutating func set(_ type: MMKVType, forAllWith beginning: String) {
    let key = ByteKey(beginning)
    beginnings.removeAll { $0.beginning == key }
    let place = beginnings.firstIndex { $0.beginning.string.utf8.count < beginning.utf8.count } ?? beginnings.endIndex
    beginnings.insert((key, type), at: place)
  }

  public func type(of key: String) -> MMKVType {
    exact[ByteKey(key)] ?? beginnings.first { key.utf8.starts(with: $0.beginning.string.utf8) }?.type ?? .raw
  }

  public static func == (first: MMKVTypes, second: MMKVTypes) -> Bool {
    first.exact == second.exact && first.beginnings.elementsEqual(second.beginnings) { $0 == $1 }
  }
}
