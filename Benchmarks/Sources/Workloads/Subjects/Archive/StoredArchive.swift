import Foundation
@_spi(Measuring) import LMDBCaching

/// What `set` and `value` of the cache do with a value: scalars, strings and data raw, everything else as CBOR. Encoding
/// ends in a buffer that is there already, as the cache's journal is.
final class StoredArchive {
  static let name = "LMDBCaching, as it is stored"
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
  private var count = 0
  private var format = ArchiveFormat.bytes

  deinit { buffer.deallocate() }

  /// The number of bytes.
  func encode<Value: Codable>(_ value: Value) throws -> Int {
    try CacheArchive.withBytes(of: value) { format, bytes in
      guard bytes.count <= buffer.count else { fatalError("The buffer is too small for \(bytes.count) bytes.") }
      buffer.copyMemory(from: bytes)
      count = bytes.count
      self.format = format
    }
    return count
  }

  /// What was encoded last.
  func decode<Value: Codable>(_ type: Value.Type) throws -> Value {
    try CacheArchive.value(type, from: UnsafeRawBufferPointer(rebasing: buffer[..<count]), format: format)
  }
}
