import TestSupport
import Testing

@testable import LMDB

@Suite struct PathHintsTests {
  private static func hash(_ index: Int) -> UInt64 {
    withUnsafeBytes(of: index) { TreeKey($0).hash }
  }

  /// The table grows with the keys, keeps nearly every recent hint on the way, and has a limit.
  @Test func growsUpToALimit() {
    let hints = PathHints()
    #expect(hints.path(Self.hash(1)) == nil)
    var (capacity, growths) = (0, 0)
    for index in 0..<50_000 {
      hints.keep(UInt64(index), Self.hash(index))
      #expect(hints.path(Self.hash(index)) == UInt64(index))
      if hints.capacity == capacity { continue }
      (capacity, growths) = (hints.capacity, growths + 1)
      let known = max(0, index - 400)..<index
      #expect(known.count { hints.path(Self.hash($0)) == UInt64($0) } >= known.count * 9 / 10)
    }
    #expect(growths >= 6)
    // A search stores its hint again after the table grows.
    for _ in 0..<8 { for index in 0..<50_000 { hints.keep(UInt64(index), Self.hash(index)) } }
    #expect(hints.capacity >= 65_536 && hints.capacity <= 262_144)
    #expect((0..<50_000).count { hints.path(Self.hash($0)) == UInt64($0) } > 47_000)
    for index in 0..<1_200_000 { hints.keep(1, Self.hash(index)) }
    #expect(hints.capacity == 1 << 20)
  }

  @Test func keysThatDifferHaveOtherHashes() {
    var random = SeededRandom(1)
    var hashes: Set<UInt64> = []
    for length in 0..<80 {
      var key = random.bytes(length)
      hashes.insert(key.withUnsafeBytes { TreeKey($0).hash })
      for index in key.indices {
        key[index] ^= 1
        hashes.insert(key.withUnsafeBytes { TreeKey($0).hash })
        key[index] ^= 1
      }
    }
    #expect(hashes.count == 80 + (0..<80).reduce(0, +))
  }
}
