import CXXHash

/// Maps cache keys, any UTF-8, to LMDB keys of 1 … 511 bytes. UTF-8 never contains FE or FF, so they mark other kinds:
///
/// - 1 … 511 bytes: the key itself,
/// - the empty key: `FE`,
/// - over 511 bytes: `FE`, the first 494 bytes, a 128-bit digest; the record holds the key, which readers compare,
/// - `FF` and more: the cache's internal records.
struct DatabaseKey: Sendable {
  static let maximumLength = 511
  static let longMarker: UInt8 = 0xFE
  static let reservedMarker: UInt8 = 0xFF
  private static let digestLength = 16
  static let longPrefixLength = maximumLength - 1 - digestLength

  /// 128-bit XXH3, or a test's function.
  var digest: @Sendable (UnsafeRawBufferPointer) -> (UInt64, UInt64) = { key in
    let digest = cxxhash_128(key.baseAddress, key.count)
    return (digest.low, digest.high)
  }

  /// Whether the cache key is the LMDB key.
  @inline(__always)
  static func isPlain(_ key: UnsafeRawBufferPointer) -> Bool { UInt(bitPattern: key.count &- 1) < UInt(maximumLength) }

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

  /// Writes the LMDB key for a key that is not plain; returns its length.
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

  func leads(_ key: UnsafeRawBufferPointer, to databaseKey: UnsafeRawBufferPointer) -> Bool {
    withDatabaseKey(key) { $0.elementsEqual(fast: databaseKey) }
  }

  /// The cache key of a record, or `nil` if this package cannot have written the pair.
  static func key(
    ofDatabaseKey databaseKey: UnsafeRawBufferPointer, record: UnsafeRawBufferPointer, header: RecordHeader
  ) -> UnsafeRawBufferPointer? {
    guard databaseKey.first == longMarker else { return header.keyLength == 0 ? databaseKey : nil }
    return UnsafeRawBufferPointer(rebasing: record[header.keyOffset..<header.payloadOffset])
  }
}
