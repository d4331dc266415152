import Foundation
@_spi(Measuring) import LMDBCaching

/// The coding of the cache's `set` and `value`: scalars, strings and data raw, everything else as CBOR. Encodes into an
/// existing buffer, like the cache's journal.
final class StoredArchive {
  static let name = "LMDBCaching, as it is stored"
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
  private var count = 0
  private var format: ArchiveFormat?

  deinit { buffer.deallocate() }

  /// Returns the number of bytes.
  func encode<Value: Codable>(_ value: Value) throws -> Int {
    try CacheArchive.withBytes(of: value) { format, bytes in
      guard bytes.count <= buffer.count else { fatalError("The buffer is too small for \(bytes.count) bytes.") }
      buffer.copyMemory(from: bytes)
      count = bytes.count
      self.format = format
    }
    return count
  }

  /// Decodes the last encoding.
  func decode<Value: Codable>(_ type: Value.Type) throws -> Value {
    guard let format else { fatalError("Nothing was encoded.") }
    return try CacheArchive.value(type, from: UnsafeRawBufferPointer(rebasing: buffer[..<count]), format: format)
  }
}
