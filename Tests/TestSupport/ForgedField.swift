/// A number in the cache's own record (the key `FF`, `m`), by its offset in this version's layout.
package enum ForgedField: Int, CaseIterable, Sendable {
  case stampBase = 32
  case lastStamp = 40
  case clearStamp = 48
  case count = 56
  case cost = 64
  case upperCost = 72
  case expiring = 80
  case digest = 88

  package static let key: [UInt8] = [0xFF, 0x6D]

  /// Values that no cache writes.
  package static let extremes: [UInt64] = [
    0, 1, UInt64(Int64.max), UInt64(bitPattern: .min), UInt64(bitPattern: -2), .max, (1 << 62) - 1,
  ]

  /// Fields that only a scan of all entries can disprove.
  package static let withoutDigest = allCases.filter { $0 != .digest }

  /// Puts `value` into a record, which invalidates the checksum.
  package func put(_ value: UInt64, into record: inout [UInt8]) {
    withUnsafeBytes(of: value.littleEndian) { record.replaceSubrange(rawValue..<rawValue + 8, with: $0) }
  }

  package func value(in record: [UInt8]) -> UInt64 {
    record.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: rawValue, as: UInt64.self)) }
  }
}
