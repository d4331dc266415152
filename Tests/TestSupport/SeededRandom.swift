/// SplitMix64: the same numbers for the same seed.
package struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  package init(_ seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  package mutating func bytes(_ count: Int) -> [UInt8] {
    // Fills whole words: single bytes dominate some tests without optimization.
    [UInt8](unsafeUninitializedCapacity: count + 7) { buffer, length in
      let base = UnsafeMutableRawPointer(buffer.baseAddress!)
      var offset = 0
      while offset < count {
        base.storeBytes(of: next().littleEndian, toByteOffset: offset, as: UInt64.self)
        offset += 8
      }
      length = count
    }
  }
}
