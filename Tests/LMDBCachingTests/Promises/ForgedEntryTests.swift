import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Entries with impossible numbers and valid checksums.
@Suite struct ForgedEntryTests {
  struct Forged: CustomTestStringConvertible, Sendable {
    var stamp: UInt64 = 1
    var expires: Int64 = 0
    var cost = 10
    var testDescription: String { "stamp \(stamp), expires \(expires), cost \(cost)" }

    func record(_ key: String, holdsKey: Bool = false) -> [UInt8] {
      Array(key.utf8).withUnsafeBytes { key in
        Array("forged".utf8).withUnsafeBytes { value in
          UntrustedBytes.record(
            of: value, format: .string, key: key, stamp: stamp, expires: expires, cost: cost, holdsKey: holdsKey)
        }
      }
    }
  }

  static let extremes: [Forged] =
    [0, UInt64(Int64.max), .max - 1, .max].map { Forged(stamp: $0) }
    + [1, -1, .min, .max - 1, .max].map { Forged(expires: $0) }
    + [0, 1 << 32, .max - 1, .max, -1, .min].map { Forged(cost: $0) } + [
      Forged(stamp: .max, expires: .max, cost: .max), Forged(stamp: .max, expires: 1, cost: .max),
    ]

  @Test(arguments: extremes) func aForgedEntryHarmsNothing(_ forged: Forged) throws {
    let cache = try ForgedCache()
    for key in ["a", "b", "forged"] { try cache.forge(Array(key.utf8)) { _ in forged.record(key) } }
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// Stores records under keys other than their own.
  @Test(arguments: [0, 1, 510, 511, 512, 70_000]) func anEntryOfAnotherKeyHarmsNothing(_ length: Int) throws {
    let cache = try ForgedCache()
    let other = String(repeating: "k", count: length)
    try cache.forge([0xFE]) { _ in Forged().record(other, holdsKey: true) }
    try cache.forge([0xFE] + [UInt8](repeating: 0x6B, count: 510)) { _ in Forged().record(other, holdsKey: true) }
    try cache.forge([0xFE, 0x6B]) { _ in Forged().record(other, holdsKey: true) }
    try cache.forge(Array("a".utf8)) { _ in Forged().record(other, holdsKey: true) }
    // Invalid UTF-8.
    try cache.forge([0xC3]) { _ in Forged().record("b") }
    try cache.forge([0x80, 0, 0xFD]) { _ in Forged().record("b") }
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// Forges lengths within a record.
  @Test(arguments: [0, 1, 0x7F, 0x80, 0xFF] as [UInt8]) func everyByteOfAHeaderMayBeForged(_ byte: UInt8) throws {
    let cache = try ForgedCache()
    // The large value's record points into the log.
    for (offset, key) in zip(0..<40, Array(repeating: ["a", "dear", "expiring", "large"], count: 10).flatMap(\.self)) {
      let copy = Array("\(key) \(offset)".utf8)
      var original: [UInt8] = []
      try ForgedDatabase.rewrite(cache.directory.path, Array(key.utf8)) { old in
        original = old ?? []
        return old
      }
      guard offset < original.count else { continue }
      original[offset] = byte
      try cache.forge(copy) { _ in original }
    }
    let failures = try cache.use()
    #expect(failures == [])
  }
}
