import LMDBCaching
import Platform

extension Duration {
  /// Rounded up, and at least 1: the server knows no shorter time.
  var wholeMilliseconds: Int { Int(Swift.max(1, clampedNanoseconds.addingClamped(999_999) / 1_000_000)) }
}
