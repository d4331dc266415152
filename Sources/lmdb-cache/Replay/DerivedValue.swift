/// The value that a replay stores under a key: constant for a key, and different for others.
enum DerivedValue {
  /// FNV-1a over the key's bytes.
  static func seed(_ key: String) -> UInt64 {
    key.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  }

  /// Fills `bytes` with splitmix64 output.
  @inline(__always)
  static func fill(_ bytes: UnsafeMutableRawBufferPointer, seed: UInt64) {
    var state = seed
    var offset = 0
    while offset + 8 <= bytes.count {
      bytes.storeBytes(of: next(&state).littleEndian, toByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    if offset == bytes.count { return }
    var rest = next(&state)
    while offset < bytes.count {
      bytes[offset] = UInt8(truncatingIfNeeded: rest)
      rest >>= 8
      offset += 1
    }
  }

  @inline(__always)
  private static func next(_ state: inout UInt64) -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
