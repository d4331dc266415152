/// What a record holds in place of a value that is in the value log: where it is, its checksum and length.
struct ValuePointer: Equatable, Sendable {
  static let size = 32
  /// Where the first value of a segment may begin: behind its header.
  static let leastOffset = 64

  /// The segment's identifier: see ``ValueSegment``.
  let segment: UInt64
  /// Where the value begins in the segment's file.
  let offset: Int
  /// Bytes of the value.
  let length: Int
  /// XXH3 of the value.
  let hash: UInt64

  init(segment: UInt64, offset: Int, length: Int, hash: UInt64) {
    self.segment = segment
    self.offset = offset
    self.length = length
    self.hash = hash
  }

  init(_ bytes: UnsafeRawBufferPointer) {
    segment = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    offset = Int(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: Int.self))
    length = Int(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: Int.self))
    hash = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
  }

  /// The pointer in a record, or `nil` if the record holds its value itself.
  @inline(__always)
  init?(in record: UnsafeRawBufferPointer, _ header: RecordHeader?) {
    guard let header, header.flags.contains(.pointer) else { return nil }
    self.init(header.payload(of: record))
  }

  func write(to bytes: UnsafeMutableRawPointer) {
    bytes.storeBytes(of: segment.littleEndian, as: UInt64.self)
    bytes.storeBytes(of: offset.littleEndian, toByteOffset: 8, as: Int.self)
    bytes.storeBytes(of: length.littleEndian, toByteOffset: 16, as: Int.self)
    bytes.storeBytes(of: hash.littleEndian, toByteOffset: 24, as: UInt64.self)
  }

  /// As a record's payload.
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withStackBytes(Self.size) { (bytes) throws(E) in
      write(to: bytes.baseAddress!)
      return try body(UnsafeRawBufferPointer(bytes))
    }
  }

  /// The greatest length of a value: so much may be allocated for one before anything of it was read.
  static let greatestLength = Int(UInt32.max)

  /// Where the value ends, or `nil` if no file has such a place, or no value such a length: whoever can write to the
  /// directory can make a record.
  var end: Int? {
    guard offset >= Self.leastOffset, 0...Self.greatestLength ~= length else { return nil }
    let (end, overflow) = offset.addingReportingOverflow(length)
    return overflow ? nil : end
  }
}
