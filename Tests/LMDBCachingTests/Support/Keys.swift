/// Keys that are easy to confuse, lose or reject.
enum Keys {
  static let empty = ""
  static let plainLimit = String(repeating: "p", count: 511)
  static let overPlainLimit = String(repeating: "p", count: 512)
  static let veryLong = String(repeating: "é", count: 5_000)
  /// Long keys that share the 494 bytes that LMDB's key keeps.
  static let sharedPrefix = (0..<5).map { String(repeating: "s", count: 494) + "tail of a long key \($0)" }
  static let nulls = ["\0", "\0\0", "a\0", "a\0b", "a", "a\0\0b"]
  /// Equal as strings, different as bytes.
  static let equivalent = ["é", "e\u{301}", "한", "\u{1112}\u{1161}\u{11AB}", "Å", "\u{212B}", "A\u{30A}"]

  /// Together they contain every byte of UTF-8: 00 … BF and C2 … F4.
  static let everyByte: [String] = {
    var scalars: [UInt32] = Array(0...0xBF)
    for lead in UInt32(0xC2)...0xDF { scalars.append((lead & 0x1F) << 6) }
    for lead in UInt32(0xE0)...0xEF { scalars.append((lead & 0xF) << 12 | 0xA40) }
    for lead in UInt32(0xF0)...0xF4 { scalars.append((lead & 7) << 18 | 0x1_0000) }
    return scalars.compactMap(UnicodeScalar.init).map { String(Character($0)) }
  }()

  static let all: [String] = {
    var seen: Set<[UInt8]> = []
    let all =
      [empty, plainLimit, overPlainLimit, veryLong, plainLimit + "q", "\u{10FFFF}", "\u{FFFF}"] + sharedPrefix + nulls
      + equivalent + everyByte
    return all.filter { seen.insert(Array($0.utf8)).inserted }
  }()

  static func sorted(_ keys: [String]) -> [[UInt8]] {
    keys.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
  }
}
