extension DiskStore {
  /// The header for a new record; its stamp is set later.
  @inline(__always)
  func header(
    for key: CacheKey, _ format: ArchiveFormat, _ bytes: UnsafeRawBufferPointer, expiresIn: Duration?, cost: Int?
  ) throws(CacheError) -> RecordHeader {
    try header(for: key, format, bytes, expires: expiresIn.map(expiry) ?? 0, cost: cost)
  }

  /// - Parameter expires: Nanoseconds since 1970, or 0 for never.
  @inline(__always)
  func header(
    for key: CacheKey, _ format: ArchiveFormat, _ bytes: UnsafeRawBufferPointer, expires: Int64, cost: Int?
  ) throws(CacheError) -> RecordHeader {
    if let cost, cost < 0 { throw CacheError(.invalidArgument, "A cost is not negative; \(cost) is.") }
    try Self.checkLengths(key.string, key.utf8.count, bytes.count)
    return RecordHeader(
      format: format, expires: expires, now: RecordHeader.seconds(clock.coarseNow),
      cost: cost ?? key.utf8.count + bytes.count)
  }

  func expiry(after duration: Duration) -> Int64 {
    let (sum, overflow) = clock.now.addingReportingOverflow(max(0, duration.clampedNanoseconds))
    // 0 means never.
    return overflow ? .max : sum == 0 ? 1 : sum
  }

  static let maximumKeyLength = 16 << 20

  static func checkLength(ofKey count: Int) throws(CacheError) {
    if count > maximumKeyLength {
      throw CacheError(
        .invalidArgument,
        "A key has at most 16 MiB of UTF-8, not \(count) bytes. Use a hash of what identifies the value.")
    }
  }

  @inline(__always)
  static func checkLengths(_ key: @autoclosure () -> String, _ keyLength: Int, _ valueLength: Int) throws(CacheError) {
    try checkLength(ofKey: keyLength)
    if valueLength >= 1 << 32 {
      throw CacheError(
        .invalidArgument,
        "A value has less than 4 GiB, and that of \(quoted(key())) has \(valueLength) bytes. Store it in parts.")
    }
  }
}
