import ArgumentParser
import CBORCoding

/// What `export` writes and `import` reads: a header, an object or map for each entry, and an end, one behind the
/// other.
enum ExchangeFormat: String, ExpressibleByArgument, CaseIterable {
  /// An object a line.
  case jsonl
  /// A CBOR sequence (RFC 8742) of maps.
  case cbor

  typealias Field = CBORField
  typealias Fields = [(key: String, value: Field)]

  static var allValueDescriptions: [String: String] {
    ["jsonl": "JSON lines: an object a line", "cbor": "a CBOR sequence (RFC 8742) of maps"]
  }

  // MARK: The header and the end

  static let version: Int128 = 1
  static let versionName = "lmdb-cache-export"
  static let durabilityName = "durability"
  static let entriesName = "entries"
  static let unreadableName = "unreadable"
}
