import LMDBCaching

extension Duration {
  /// Rounded up, and at least 1: the server knows no shorter time.
  var wholeMilliseconds: Int { Int(Swift.max(1, clampedNanoseconds.addingClamped(999_999) / 1_000_000)) }
}

extension Int64 {
  fileprivate func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
