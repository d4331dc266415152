/// The UTF-8 bytes that identify a cache key, without a copy for native strings.
@inline(__always)
func withUTF8Bytes<R, E: Error>(
  of string: String, _ body: (UnsafeRawBufferPointer) throws(E) -> R
) throws(E) -> R {
  let fast = string.utf8.withContiguousStorageIfAvailable { bytes -> Result<R, E> in
    outcome { () throws(E) in try body(UnsafeRawBufferPointer(bytes)) }
  }
  if let fast { return try fast.get() }
  return try Array(string.utf8).withBytes(body)
}

extension String {
  /// Replaces invalid UTF-8. Bytes bound to a type take three quarters of the time of raw ones.
  @inline(__always)
  init(utf8 bytes: UnsafeRawBufferPointer) {
    self.init(decoding: bytes.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
  }
}
