#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// memcmp over the first `count` bytes.
@inline(__always)
func compare(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, _ count: Int) -> Int32 {
  count == 0 ? 0 : memcmp(first.baseAddress!, second.baseAddress!, count)
}

extension UnsafeRawBufferPointer {
  /// Byte order, shorter first: LMDB's order of keys, and the order in which keys are enumerated.
  @inline(__always)
  func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
    let order = compare(self, other, Swift.min(count, other.count))
    return order == 0 ? count < other.count : order < 0
  }

  /// `starts(with:)` by memcmp.
  @inline(__always)
  func hasPrefix(_ prefix: UnsafeRawBufferPointer) -> Bool {
    count >= prefix.count && compare(self, prefix, prefix.count) == 0
  }
}
