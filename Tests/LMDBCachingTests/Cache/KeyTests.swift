import Foundation
import LMDBCaching
import Testing

@Suite struct KeyTests {
  let directory = CacheDirectory()

  @Test(arguments: Place.allCases) func everyKeyKeepsItsOwnValue(_ place: Place) throws {
    let cache = try directory.open(neverCommitting)
    for (index, key) in Keys.all.enumerated() { try cache.set(index, forKey: key) }
    try place.settle(cache)
    for (index, key) in Keys.all.enumerated() {
      #expect(try cache.contains(key))
      #expect(try cache.value(Int.self, forKey: key) == index)
      #expect(try cache.withBytes(forKey: key) { $0.byteCount } == 8)
    }
    #expect(try cache.count == Keys.all.count)
    try cache.close()
  }

  static let prefixes = [
    "", "a", "a\0", "\0", "é", "e", "p", "s", String(repeating: "s", count: 493), String(repeating: "s", count: 494),
    String(repeating: "s", count: 494) + "tail of a long key ", Keys.sharedPrefix[3], Keys.sharedPrefix[3] + "x",
    Keys.plainLimit, Keys.overPlainLimit, Keys.plainLimit + "q", String(repeating: "é", count: 250),
    String(repeating: "é", count: 4_999), String(repeating: "é", count: 5_001), "\u{10FFFF}", "none",
  ]

  @Test(arguments: prefixes) func aPrefixSelectsByBytes(_ prefix: String) throws {
    let cache = try directory.open()
    for key in Keys.all.shuffled() { try cache.set(1, forKey: key) }
    let (inside, outside) = (
      Keys.all.filter { $0.utf8.starts(with: prefix.utf8) }, Keys.all.filter { !$0.utf8.starts(with: prefix.utf8) }
    )
    #expect(try cache.entries(withPrefix: prefix).map { Array($0.key.utf8) } == Keys.sorted(inside))
    #expect(
      try cache.read { try $0.entries(withPrefix: prefix) }.map { Array($0.key.utf8) } == Keys.sorted(inside))
    try cache.removeAll(.prefix(prefix))
    for key in inside { #expect(try cache.value(Int.self, forKey: key) == nil) }
    for key in outside { #expect(try cache.value(Int.self, forKey: key) == 1) }
    #expect(try cache.entries().map { Array($0.key.utf8) } == Keys.sorted(outside))
    #expect(try cache.count == outside.count)
    try cache.close()
  }

  /// More than one part of a removal.
  @Test(arguments: [true, false]) func aPrefixOfManyKeysIsRemovedWhole(_ isCommitted: Bool) throws {
    let cache = try directory.open(neverCommitting)
    for index in 0..<3_000 { try cache.set(index, forKey: "\(index % 3)/\(index)") }
    for index in 0..<60 { try cache.set(index, forKey: "1/" + String(repeating: "k", count: 600) + String(index)) }
    if isCommitted { try cache.flush() }
    try cache.removeAll(.prefix("1/"))
    try cache.set(7, forKey: "1/new")
    #expect(try cache.entries(withPrefix: "1/").map(\.key) == ["1/new"])
    #expect(try cache.entries().count == 2_001 && cache.count == 2_001)
    try cache.close()
  }
}
