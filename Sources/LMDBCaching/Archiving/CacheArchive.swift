/// The way that values take to the bytes of a record and back, by itself: for measuring it beside other archivers.
///
/// What the cache's `set` and `value` do, without the cache. No part of the supported interface: what is to be encoded
/// for other purposes is encoded with `CBOREncoder` of the module `CBORCoding`.
@_spi(Measuring)
public enum CacheArchive {
  /// Archives `value` and calls `body` with the bytes, which are valid in it only.
  public static func withBytes<V: Codable>(
    of value: V, _ body: (ArchiveFormat, UnsafeRawBufferPointer) -> Void
  ) throws(CacheError) {
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in body(format, bytes) }
  }

  /// Reads a value back from bytes of that format.
  public static func value<V: Codable>(
    _ type: V.Type, from bytes: UnsafeRawBufferPointer, format: ArchiveFormat
  ) throws(CacheError) -> V {
    try ValueArchiver.value(type, from: bytes, format: format, forKey: "")
  }
}
