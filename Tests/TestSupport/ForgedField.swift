/// A number in the cache's own record (the key `FF`, `m`), by its offset in this version's layout.
package enum ForgedField: Int, CaseIterable, Sendable {
  case stampBase = 32
  case lastStamp = 40
  case clearStamp = 48
  case count = 56
  case cost = 64
  case expiring = 72
  case files = 80
  case digest = 88

  /// Where it says whether the digest counts.
  private static let hasDigest = 96

  package static let key: [UInt8] = [0xFF, 0x6D]

  /// What may be in it that no cache writes.
  package static let extremes: [UInt64] = [
    0, 1, UInt64(Int64.max), UInt64(bitPattern: .min), UInt64(bitPattern: -2), .max,
  ]

  /// Puts `value` into a record; its checksum is not right any more.
  package func put(_ value: UInt64, into record: inout [UInt8]) {
    withUnsafeBytes(of: value.littleEndian) { record.replaceSubrange(rawValue..<rawValue + 8, with: $0) }
  }

  /// Lets a record's entries be changed without a trace.
  package static func dropDigest(of record: inout [UInt8]) {
    record.replaceSubrange(hasDigest..<hasDigest + 4, with: [0, 0, 0, 0])
  }
}
