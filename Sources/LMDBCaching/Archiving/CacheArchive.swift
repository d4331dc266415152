/// Converts values to record bytes and back, without the cache, for comparison with other archivers.
///
/// Not part of the supported interface. For other purposes use `CBOREncoder` of the module `CBORCoding`.
@_spi(Measuring)
public enum CacheArchive {
  /// Archives `value` and calls `body` with the bytes, which it must not keep.
  public static func withBytes<V: Codable>(
    of value: V, _ body: (ArchiveFormat, UnsafeRawBufferPointer) -> Void
  ) throws(CacheError) {
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in body(format, bytes) }
  }

  /// Reads a value back from bytes in the format.
  public static func value<V: Codable>(
    _ type: V.Type, from bytes: UnsafeRawBufferPointer, format: ArchiveFormat
  ) throws(CacheError) -> V {
    try ValueArchiver.value(type, from: bytes, format: format, forKey: "")
  }
}
