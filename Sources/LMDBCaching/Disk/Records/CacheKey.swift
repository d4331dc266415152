import CXXHash

/// A key with its UTF-8 bytes, obtained once for all layers.
struct CacheKey {
  let string: String
  let utf8: UnsafeRawBufferPointer
  /// The hash of ``KeyIdentity``. Computed at every use, because most disk reads need none.
  @inline(__always)
  var hash: UInt64 { cxxhash_64(utf8.baseAddress, utf8.count, KeyIdentity.seed) }

  @inline(__always)
  static func with<R, E: Error>(_ key: String, _ body: (CacheKey) throws(E) -> R) throws(E) -> R {
    try withUTF8Bytes(of: key) { (utf8) throws(E) in
      try body(CacheKey(string: key, utf8: utf8))
    }
  }
}
