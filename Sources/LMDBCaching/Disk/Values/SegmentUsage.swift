/// The part of a value log segment that the database's entries refer to. Updated in the transactions that change
/// entries; unreferenced segments have none.
struct SegmentUsage: Equatable, Sendable {
  static let size = 16

  /// Bytes of the log's entries, including their heads.
  var bytes = 0
  var count = 0

  init(bytes: Int = 0, count: Int = 0) {
    self.bytes = bytes
    self.count = count
  }

  init(_ stored: UnsafeRawBufferPointer) {
    guard stored.count == Self.size else { return }
    bytes = max(0, Int(littleEndian: stored.loadUnaligned(as: Int.self)))
    count = max(0, Int(littleEndian: stored.loadUnaligned(fromByteOffset: 8, as: Int.self)))
  }

  var stored: [UInt8] {
    [bytes, count].flatMap { word in withUnsafeBytes(of: word.littleEndian) { Array($0) } }
  }

  // Wrapping, because a forged record may have any length.

  mutating func add(_ pointer: ValuePointer, keyLength: Int) {
    bytes &+= ValueEntry.size(keyLength: keyLength, length: pointer.length)
    count &+= 1
  }

  mutating func subtract(_ pointer: ValuePointer, keyLength: Int) {
    bytes &-= ValueEntry.size(keyLength: keyLength, length: pointer.length)
    count &-= 1
  }

  static func + (first: SegmentUsage, second: SegmentUsage) -> SegmentUsage {
    SegmentUsage(bytes: first.bytes &+ second.bytes, count: first.count &+ second.count)
  }

  // MARK: Where it is in the database

  static let keyPrefix: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "s")]

  static func key(_ segment: UInt64) -> [UInt8] { keyPrefix + withUnsafeBytes(of: segment.bigEndian) { Array($0) } }

  static func segment(ofKey key: UnsafeRawBufferPointer) -> UInt64? {
    guard key.count == 10, key.starts(with: keyPrefix) else { return nil }
    return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
  }
}
