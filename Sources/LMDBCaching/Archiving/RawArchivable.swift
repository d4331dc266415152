import Foundation

/// A type whose values are stored as raw little-endian bytes, without a coder. ``RawArchiving`` lists the types, and
/// finds them by comparing type identities.
protocol RawArchivable: Codable, Sendable {
  func withRawBytes<R>(_ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R) throws(CacheError) -> R

  /// Returns `nil` for another kind of value, or one out of range.
  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat)
}

extension RawArchivable where Self: FixedWidthInteger {
  @inline(__always)
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    if Self.isSigned {
      return try withScalarBytes(of: Int64(truncatingIfNeeded: self).littleEndian, .signedInteger, body)
    }
    return try withScalarBytes(of: UInt64(truncatingIfNeeded: self).littleEndian, .unsignedInteger, body)
  }

  @inline(__always)
  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    guard rawBytes.count == 8 else { return nil }
    switch format {
    case .signedInteger: self.init(exactly: Int64(littleEndian: rawBytes.loadUnaligned(as: Int64.self)))
    case .unsignedInteger: self.init(exactly: UInt64(littleEndian: rawBytes.loadUnaligned(as: UInt64.self)))
    default: return nil
    }
  }
}

extension Int: RawArchivable {}
extension Int8: RawArchivable {}
extension Int16: RawArchivable {}
extension Int32: RawArchivable {}
extension Int64: RawArchivable {}
extension UInt: RawArchivable {}
extension UInt8: RawArchivable {}
extension UInt16: RawArchivable {}
extension UInt32: RawArchivable {}
extension UInt64: RawArchivable {}

extension Bool: RawArchivable {
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try withScalarBytes(of: self ? 1 : 0 as UInt8, .bool, body)
  }

  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    guard format == .bool, rawBytes.count == 1, rawBytes[0] <= 1 else { return nil }
    self = rawBytes[0] == 1
  }
}

extension Double: RawArchivable {
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try withScalarBytes(of: bitPattern.littleEndian, .double, body)
  }

  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    guard format == .double, rawBytes.count == 8 else { return nil }
    self.init(bitPattern: UInt64(littleEndian: rawBytes.loadUnaligned(as: UInt64.self)))
  }
}

extension Float: RawArchivable {
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try withScalarBytes(of: bitPattern.littleEndian, .float, body)
  }

  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    guard format == .float, rawBytes.count == 4 else { return nil }
    self.init(bitPattern: UInt32(littleEndian: rawBytes.loadUnaligned(as: UInt32.self)))
  }
}

extension String: RawArchivable {
  @inline(__always)
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try withUTF8Bytes(of: self) { (bytes) throws(CacheError) in try body(.string, bytes) }
  }

  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    guard format == .string else { return nil }
    self.init(utf8: rawBytes)
  }
}

extension Data: RawArchivable {
  @inline(__always)
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try withBytes { (bytes) throws(CacheError) in try body(.bytes, bytes) }
  }

  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    guard format == .bytes else { return nil }
    self.init(rawBytes)
  }
}

extension Date: RawArchivable {
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try withScalarBytes(of: timeIntervalSinceReferenceDate.bitPattern.littleEndian, .date, body)
  }

  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    guard format == .date, rawBytes.count == 8 else { return nil }
    let pattern = UInt64(littleEndian: rawBytes.loadUnaligned(as: UInt64.self))
    self.init(timeIntervalSinceReferenceDate: Double(bitPattern: pattern))
  }
}

extension UUID: RawArchivable {
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try withScalarBytes(of: uuid, .uuid, body)
  }

  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    guard format == .uuid, rawBytes.count == 16 else { return nil }
    self.init(uuid: rawBytes.loadUnaligned(as: uuid_t.self))
  }
}

extension URL: RawArchivable {
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try withUTF8Bytes(of: absoluteString) { (bytes) throws(CacheError) in try body(.url, bytes) }
  }

  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    guard format == .url else { return nil }
    self.init(string: String(utf8: rawBytes))
  }
}

/// An element of an array that is stored as raw bytes.
protocol RawElement: BitwiseCopyable, Codable, Sendable {
  static var arrayFormat: ArchiveFormat { get }
}

extension Int: RawElement { static var arrayFormat: ArchiveFormat { .int64Array } }
extension Int8: RawElement { static var arrayFormat: ArchiveFormat { .int8Array } }
extension Int16: RawElement { static var arrayFormat: ArchiveFormat { .int16Array } }
extension Int32: RawElement { static var arrayFormat: ArchiveFormat { .int32Array } }
extension Int64: RawElement { static var arrayFormat: ArchiveFormat { .int64Array } }
extension UInt: RawElement { static var arrayFormat: ArchiveFormat { .uint64Array } }
extension UInt8: RawElement { static var arrayFormat: ArchiveFormat { .uint8Array } }
extension UInt16: RawElement { static var arrayFormat: ArchiveFormat { .uint16Array } }
extension UInt32: RawElement { static var arrayFormat: ArchiveFormat { .uint32Array } }
extension UInt64: RawElement { static var arrayFormat: ArchiveFormat { .uint64Array } }
extension Float: RawElement { static var arrayFormat: ArchiveFormat { .floatArray } }
extension Double: RawElement { static var arrayFormat: ArchiveFormat { .doubleArray } }

#if _endian(big)
  #error("Arrays of scalars are stored as they lie in memory, little endian.")
#endif

extension Array: RawArchivable where Element: RawElement {
  func withRawBytes<R>(
    _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    try withUnsafeBytes { bytes in
      outcome { () throws(CacheError) in try body(Element.arrayFormat, bytes) }
    }.get()
  }

  init?(rawBytes: UnsafeRawBufferPointer, format: ArchiveFormat) {
    let stride = MemoryLayout<Element>.stride
    guard format == Element.arrayFormat, rawBytes.count % stride == 0 else { return nil }
    self.init(unsafeUninitializedCapacity: rawBytes.count / stride) { buffer, count in
      UnsafeMutableRawBufferPointer(buffer).copyMemory(from: rawBytes)
      count = rawBytes.count / stride
    }
  }
}

@inline(__always)
private func withScalarBytes<T: BitwiseCopyable, R>(
  of value: T, _ format: ArchiveFormat,
  _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
) throws(CacheError) -> R {
  try withUnsafePointer(to: value) { (pointer) throws(CacheError) in
    try body(format, UnsafeRawBufferPointer(start: pointer, count: MemoryLayout<T>.size))
  }
}
