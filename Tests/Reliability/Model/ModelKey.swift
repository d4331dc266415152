/// Compares keys by their bytes, as the cache does.
struct ModelKey: Hashable {
  let bytes: [UInt8]

  init(_ string: String) { bytes = Array(string.utf8) }

  func hasPrefix(_ prefix: String) -> Bool { bytes.starts(with: prefix.utf8) }

  /// Keys that are easy to confuse, lose or reject.
  static let all: [String] =
    [
      "", "a", "a/1", "a/2", "a/é", "a/e\u{301}", "b", "b/\0", "c/1", "c/2", "c/3",
      String(repeating: "p", count: 511), String(repeating: "p", count: 512),
    ]
    // Long keys with a common prefix in LMDB.
    + (0..<5).map { String(repeating: "s", count: 494) + "tail of a long key \($0)" }

  static let prefixes = [
    "", "a/", "c", "a/e", String(repeating: "s", count: 494), String(repeating: "p", count: 511), "x",
  ]
}
