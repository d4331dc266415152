extension DiskStore {
  /// The header of a record that is about to be written, its stamp left open.
  @inline(__always)
  func header(
    for key: CacheKey, _ format: ArchiveFormat, _ bytes: UnsafeRawBufferPointer, expiresIn: Duration?, cost: Int?
  ) throws(CacheError) -> RecordHeader {
    if let cost, cost < 0 { throw CacheError(.invalidArgument, "A cost is not negative; \(cost) is.") }
    guard key.utf8.count <= Self.maximumKeyLength, bytes.count < 1 << 32 else {
      throw CacheError(
        .invalidArgument, "A key has at most 16 MiB and a value less than 4 GiB: \(quoted(key.string)) does not fit.")
    }
    var expires: Int64 = 0
    if let expiresIn {
      let (sum, overflow) = clock.now.addingReportingOverflow(max(0, expiresIn.clampedNanoseconds))
      // 0 means never.
      expires = overflow ? .max : sum == 0 ? 1 : sum
    }
    return RecordHeader(
      format: format, expires: expires, now: RecordHeader.seconds(clock.coarseNow),
      cost: cost ?? key.utf8.count + bytes.count)
  }

  static let maximumKeyLength = 16 << 20
}
