import CXXHash

/// A key with what every layer needs of it, computed once.
struct CacheKey {
  let string: String
  let utf8: UnsafeRawBufferPointer
  /// The hash of ``KeyIdentity``: the memory tier's and the journal index's. Computed at every use: most reads
  /// of the disk need none.
  @inline(__always)
  var hash: UInt64 { cxxhash_64(utf8.baseAddress, utf8.count, KeyIdentity.seed) }

  @inline(__always)
  static func with<R, E: Error>(_ key: String, _ body: (CacheKey) throws(E) -> R) throws(E) -> R {
    try withUTF8Bytes(of: key) { (utf8) throws(E) in
      try body(CacheKey(string: key, utf8: utf8))
    }
  }
}
