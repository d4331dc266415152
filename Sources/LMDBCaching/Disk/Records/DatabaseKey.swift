import CXXHash

/// The mapping from cache keys, any UTF-8, to LMDB's keys of 1 … 511 bytes.
///
/// UTF-8 never contains the bytes FE and FF, so they mark what is not a plain key:
///
/// - 1 … 511 bytes: the key itself,
/// - the empty key: `FE`,
/// - over 511 bytes: `FE`, the first 494 bytes, a 128-bit digest; the record holds the key, and readers
///   compare it,
/// - `FF` and what follows: the cache's own records.
struct DatabaseKey: Sendable {
  static let maximumLength = 511
  static let longMarker: UInt8 = 0xFE
  static let reservedMarker: UInt8 = 0xFF
  private static let digestLength = 16
  static let longPrefixLength = maximumLength - 1 - digestLength

  /// XXH3 with 128 bits, or a test's.
  var digest: @Sendable (UnsafeRawBufferPointer) -> (UInt64, UInt64) = { key in
    let digest = cxxhash_128(key.baseAddress, key.count)
    return (digest.low, digest.high)
  }

  /// Whether LMDB's key is the cache key.
  @inline(__always)
  static func isPlain(_ key: UnsafeRawBufferPointer) -> Bool { UInt(bitPattern: key.count &- 1) < UInt(maximumLength) }

  /// Calls `body` with LMDB's key for `key`.
  @inline(__always)
  func withDatabaseKey<R, E: Error>(
    _ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    if Self.isPlain(key) { return try body(key) }
    return try withLongKey(key, body)
  }

  @inline(never)
  private func withLongKey<R, E: Error>(
    _ key: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try withStackBytes(Self.maximumLength) { (buffer) throws(E) in
      let count = write(key, to: buffer)
      return try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  /// Writes LMDB's key for a key that is not plain; returns its length.
  func write(_ key: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    buffer[0] = Self.longMarker
    if key.isEmpty { return 1 }
    let prefix = UnsafeRawBufferPointer(rebasing: key[..<Self.longPrefixLength])
    UnsafeMutableRawBufferPointer(rebasing: buffer[1...]).copyMemory(from: prefix)
    let digest = digest(key)
    buffer.storeBytes(of: digest.0.bigEndian, toByteOffset: 1 + Self.longPrefixLength, as: UInt64.self)
    buffer.storeBytes(of: digest.1.bigEndian, toByteOffset: 9 + Self.longPrefixLength, as: UInt64.self)
    return Self.maximumLength
  }

  /// Whether LMDB's key for `key` is `databaseKey`.
  func leads(_ key: UnsafeRawBufferPointer, to databaseKey: UnsafeRawBufferPointer) -> Bool {
    withDatabaseKey(key) { $0.elementsEqual(fast: databaseKey) }
  }

  /// The cache key of a record, or `nil` when the pair cannot have been written by this package.
  static func key(
    ofDatabaseKey databaseKey: UnsafeRawBufferPointer, record: UnsafeRawBufferPointer, header: RecordHeader
  ) -> UnsafeRawBufferPointer? {
    guard databaseKey.first == longMarker else { return header.keyLength == 0 ? databaseKey : nil }
    return UnsafeRawBufferPointer(rebasing: record[header.keyOffset..<header.payloadOffset])
  }
}
