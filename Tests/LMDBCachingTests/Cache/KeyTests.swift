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
      #expect(try cache.value(Int.self, forKey: key) == index && cache.withBytes(forKey: key) { $0.byteCount } == 8)
    }
    #expect(try cache.count == Keys.all.count)
    // A prefix selects by bytes.
    let long = String(repeating: "s", count: 494) + "tail of a long key "
    for prefix in ["", "a\0", "é", "e", long, Keys.overPlainLimit, String(repeating: "é", count: 4_999), "\u{10FFFF}"] {
      let inside = Keys.sorted(Keys.all.filter { $0.utf8.starts(with: prefix.utf8) })
      #expect(try cache.entries(withPrefix: prefix).map { Array($0.key.utf8) } == inside)
      #expect(try cache.read { try $0.entries(withPrefix: prefix) }.map { Array($0.key.utf8) } == inside)
    }
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
