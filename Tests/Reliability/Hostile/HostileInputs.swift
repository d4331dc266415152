import Foundation
import TestSupport

/// Encoded values with a few changes. The same number gives the same input.
struct HostileInputs {
  private let seed: UInt64
  private let seeds: [[UInt8]]

  init(_ kind: UntrustedKind, seed: UInt64) throws {
    self.seed = seed
    seeds = try kind.seeds()
  }

  subscript(number: Int) -> [UInt8] {
    var random = SeededRandom(seed &* 1_000_003 &+ UInt64(number))
    var bytes = seeds[random.below(seeds.count)]
    for _ in 0..<random.below(5) { change(&bytes, &random) }
    return bytes
  }

  private static let interesting: [UInt8] = [
    0, 1, 0x7F, 0x80, 0xFF, 0x5F, 0x9F, 0xBF, 0xD8, 0xD9, 0x1B, 0xF9, 0x3C, 0x26,
  ]

  private func change(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
    guard !bytes.isEmpty else { return bytes = random.bytes(random.below(20)) }
    let index = random.below(bytes.count)
    switch random.below(8) {
    case 0: bytes[index] ^= 1 << UInt8(random.below(8))
    case 1: bytes[index] = Self.interesting[random.below(Self.interesting.count)]
    case 2: bytes.removeSubrange(index..<min(bytes.count, index + 1 + random.below(8)))
    case 3: bytes.insert(contentsOf: random.bytes(1 + random.below(8)), at: index)
    case 4: bytes.removeSubrange(index...)
    case 5:
      let end = min(bytes.count, index + 1 + random.below(64))
      bytes.insert(contentsOf: bytes[index..<end], at: random.below(bytes.count))
    case 6:
      let other = seeds[random.below(seeds.count)]
      guard !other.isEmpty else { return }
      let start = random.below(other.count)
      bytes.insert(contentsOf: other[start..<min(other.count, start + 64)], at: index)
    default:
      // An integer of four or eight bytes, at or near its maximum.
      for offset in 0..<min(bytes.count - index, random.below(2) == 0 ? 4 : 8) {
        bytes[index + offset] = offset == 0 ? UInt8(truncatingIfNeeded: random.next()) : 0xFF
      }
    }
  }
}
