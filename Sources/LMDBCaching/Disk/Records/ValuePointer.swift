/// The place, length and checksum of a value in the value log, stored in its record.
struct ValuePointer: Equatable, Sendable {
  static let size = 32
  /// The first possible offset in a segment, after its header.
  static let leastOffset = 64

  let segment: UInt64
  let offset: Int
  let length: Int
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

  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withStackBytes(Self.size) { (bytes) throws(E) in
      write(to: bytes.baseAddress!)
      return try body(UnsafeRawBufferPointer(bytes))
    }
  }

  /// The maximum length of a value, which bounds allocations before any of it is read.
  static let greatestLength = Int(UInt32.max)

  /// The value's end, or `nil` if its offset or length is invalid: any process with write access can forge a record.
  var end: Int? {
    guard offset >= Self.leastOffset, 0...Self.greatestLength ~= length else { return nil }
    let (end, overflow) = offset.addingReportingOverflow(length)
    return overflow ? nil : end
  }
}
