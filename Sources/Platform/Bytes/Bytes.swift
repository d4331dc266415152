/// memcmp over the first `count` bytes.
@inlinable @inline(__always)
package func compare(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, _ count: Int) -> Int32 {
  count == 0 ? 0 : unsafe memcmp(first.baseAddress!, second.baseAddress!, count)
}

extension UnsafeRawBufferPointer {
  /// Bytewise order, shorter first: LMDB's order of keys, and the order of enumeration.
  @inlinable @inline(__always)
  package func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
    let order = unsafe compare(self, other, Swift.min(count, other.count))
    return order == 0 ? count < other.count : order < 0
  }

  @inlinable @inline(__always)
  package func hasPrefix(_ prefix: UnsafeRawBufferPointer) -> Bool {
    unsafe count >= prefix.count && compare(self, prefix, prefix.count) == 0
  }

  /// The length of the common prefix, at most `limit`.
  @inlinable @inline(__always)
  package func sharedPrefix(with other: UnsafeRawBufferPointer, limit: Int) -> Int {
    let limit = Swift.min(limit, count, other.count)
    var offset = 0
    while offset + 8 <= limit {
      let difference =
        unsafe loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        ^ other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if difference != 0 { return offset + difference.littleEndian.trailingZeroBitCount / 8 }
      offset += 8
    }
    while unsafe offset < limit && self[offset] == other[offset] { offset += 1 }
    return offset
  }
}

extension RawSpan {
  /// The integer at an offset, in this machine's byte order. Traps outside of the bytes.
  @inlinable @inline(__always)
  package func load<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int = 0, as type: T.Type) -> T {
    // Checks its bounds, and any bytes are an integer.
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type)
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Allocates memory for a size that a file claims, or throws `ENOMEM`. Release it with `free`.
  package static func allocated(byteCount: Int, for path: String) throws(SystemError) -> Self {
    guard let memory = unsafe malloc(Swift.max(1, byteCount)) else { throw SystemError("malloc", path, errno: ENOMEM) }
    return unsafe Self(start: memory, count: byteCount)
  }
}

extension String {
  /// Whether Swift's runtime can safely look it up as a type name: the runtime reads bytes below the space as memory
  /// offsets.
  package var canBeTypeName: Bool {
    !utf8.isEmpty && utf8.count <= 1_024 && utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
  }
}

extension FixedWidthInteger {
  /// The sum, clamped to the type's range.
  @inline(__always)
  package func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// The product of two nonnegative numbers, clamped to the type's range.
  @inline(__always)
  package func multipliedClamped(by other: Self) -> Self {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }
}
