/// memcmp over the first `count` bytes.
@inlinable @inline(__always)
package func compare(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, _ count: Int) -> Int32 {
  count == 0 ? 0 : memcmp(first.baseAddress!, second.baseAddress!, count)
}

extension UnsafeRawBufferPointer {
  /// Bytewise order, shorter first: LMDB's order of keys, and the order of enumeration.
  @inlinable @inline(__always)
  package func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
    let order = compare(self, other, Swift.min(count, other.count))
    return order == 0 ? count < other.count : order < 0
  }

  /// `starts(with:)` by memcmp.
  @inlinable @inline(__always)
  package func hasPrefix(_ prefix: UnsafeRawBufferPointer) -> Bool {
    count >= prefix.count && compare(self, prefix, prefix.count) == 0
  }

  /// The length of the common prefix, at most `limit`.
  @inlinable @inline(__always)
  package func sharedPrefix(with other: UnsafeRawBufferPointer, limit: Int) -> Int {
    let limit = Swift.min(limit, count, other.count)
    var offset = 0
    while offset + 8 <= limit {
      let difference =
        loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        ^ other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if difference != 0 { return offset + difference.littleEndian.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < limit && self[offset] == other[offset] { offset += 1 }
    return offset
  }
}
