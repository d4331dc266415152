import CXXHash

/// The fixed little-endian header in front of every stored value.
///
///     offset  bytes
///          0      8  checksum: see `checksum(of:key:payload:)`
///          8      1  version of this layout
///          9      1  archive format
///         10      2  flags
///         12      4  length of the key that follows the header; 0 when the database key is the key
///         16      8  stamp of the write
///         24      8  expiry, nanoseconds since 1970; 0: never
///         32      4  created, seconds since 1970
///         36      4  last access, seconds since 1970
///         40      8  cost
///         48      8  length of the value in bytes
///
/// After the header: the key where its length is not 0, then the payload, which is the value or, with
/// ``Flags/file``, a ``ValueFileReference``.
struct RecordHeader {
  static let size = 56
  static let version: UInt8 = 1

  struct Flags: OptionSet {
    let rawValue: UInt16
    /// The value is in a file of its own.
    static let file = Flags(rawValue: 1)
  }

  var checksum: UInt64 = 0
  var format: ArchiveFormat
  var flags: Flags = []
  var keyLength: UInt32 = 0
  var stamp: UInt64 = 0
  /// Nanoseconds since 1970; 0: never.
  var expires: Int64 = 0
  var created: UInt32
  var lastAccess: UInt32
  var cost: Int
  var valueLength: Int

  init(format: ArchiveFormat, expires: Int64, now: UInt32, cost: Int, valueLength: Int) {
    self.format = format
    self.expires = expires
    self.created = now
    self.lastAccess = now
    self.cost = cost
    self.valueLength = valueLength
  }

  /// Reads the header; nil when the bytes cannot be a record of this version.
  @inline(__always)
  init?(_ record: UnsafeRawBufferPointer) {
    guard record.count >= Self.size, record[8] == Self.version else { return nil }
    let base = record.baseAddress!
    func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: T.Type) -> T {
      T(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: T.self))
    }
    checksum = load(0, as: UInt64.self)
    format = ArchiveFormat(rawValue: record[9])
    flags = Flags(rawValue: load(10, as: UInt16.self))
    keyLength = load(12, as: UInt32.self)
    stamp = load(16, as: UInt64.self)
    expires = load(24, as: Int64.self)
    created = load(32, as: UInt32.self)
    lastAccess = load(36, as: UInt32.self)
    cost = load(40, as: Int.self)
    valueLength = load(48, as: Int.self)
    let payload = record.count - Self.size - Int(keyLength)
    guard payload >= 0, cost >= 0, valueLength >= 0 else { return nil }
    guard payload == (flags.contains(.file) ? ValueFileReference.size : valueLength) else { return nil }
  }

  /// Writes the header with the checksum that belongs to `keyHash` and `payloadHash`.
  @inline(__always)
  mutating func write(to base: UnsafeMutableRawPointer, keyHash: UInt64, payloadHash: UInt64) {
    func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, _ offset: Int) {
      base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }
    store(Self.version, 8)
    store(format.rawValue, 9)
    store(flags.rawValue, 10)
    store(keyLength, 12)
    store(stamp, 16)
    store(expires, 24)
    store(created, 32)
    store(lastAccess, 36)
    store(cost, 40)
    store(valueLength, 48)
    checksum = Self.checksum(header: base, keyHash: keyHash, payloadHash: payloadHash)
    store(checksum, 0)
  }

  @inline(__always)
  static func keyHash(_ key: UnsafeRawBufferPointer) -> UInt64 { cxxhash_64(key.baseAddress, key.count, 0) }

  @inline(__always)
  static func payloadHash(_ payload: UnsafeRawBufferPointer) -> UInt64 {
    cxxhash_64(payload.baseAddress, payload.count, 1)
  }

  /// XXH3 over the header past the checksum, seeded with the key's hash, and the payload's XXH3. Two hashes,
  /// so that the long one can be computed before the stamp is known.
  @inline(__always)
  private static func checksum(header: UnsafeRawPointer, keyHash: UInt64, payloadHash: UInt64) -> UInt64 {
    headerHash(header, keyHash: keyHash) &+ payloadHash &* 0x9E37_79B9_7F4A_7C15
  }

  @inline(__always)
  static func headerHash(_ header: UnsafeRawPointer, keyHash: UInt64) -> UInt64 {
    cxxhash_64(header + 8, size - 8, keyHash)
  }

  /// Where the payload starts in the record.
  @inline(__always)
  var payloadOffset: Int { Self.size + Int(keyLength) }

  /// Whether the record, all of it, is what was written under `key`.
  @inline(__always)
  func isIntact(_ record: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> Bool {
    let payload = UnsafeRawBufferPointer(rebasing: record[payloadOffset...])
    return checksum == Self.checksum(
      header: record.baseAddress!, keyHash: Self.keyHash(key), payloadHash: Self.payloadHash(payload))
  }

  /// The same from the header's hash and a copy of the payload.
  @inline(__always)
  func isIntact(headerHash: UInt64, payload: UnsafeRawBufferPointer) -> Bool {
    checksum == headerHash &+ Self.payloadHash(payload) &* 0x9E37_79B9_7F4A_7C15
  }

  /// Whether the record is of this key: under a digest there may be another one that has the same.
  @inline(__always)
  func belongs(to key: UnsafeRawBufferPointer, in record: UnsafeRawBufferPointer) -> Bool {
    keyLength == 0 || UnsafeRawBufferPointer(rebasing: record[Self.size..<payloadOffset]).elementsEqual(fast: key)
  }

  @inline(__always)
  func isExpired(at now: Int64) -> Bool { expires != 0 && expires <= now }
}
