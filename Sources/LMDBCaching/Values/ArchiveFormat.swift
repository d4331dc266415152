import Foundation

/// The encoding of a record's bytes. The numbers are part of the file format.
public struct ArchiveFormat: Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The bytes themselves: `Data`.
  package static let bytes = ArchiveFormat(rawValue: 1)
  /// UTF-8 text: `String`.
  package static let string = ArchiveFormat(rawValue: 2)
  /// One byte, 0 or 1: `Bool`.
  package static let bool = ArchiveFormat(rawValue: 3)
  /// Eight bytes, two's complement: any signed integer.
  package static let signedInteger = ArchiveFormat(rawValue: 4)
  /// Eight bytes: any unsigned integer.
  package static let unsignedInteger = ArchiveFormat(rawValue: 5)
  /// Eight bytes, IEEE 754: `Double`.
  package static let double = ArchiveFormat(rawValue: 6)
  /// Four bytes, IEEE 754: `Float`.
  package static let float = ArchiveFormat(rawValue: 7)
  /// Eight bytes, IEEE 754: seconds since 2001-01-01 00:00 UTC, as `Date` counts them.
  package static let date = ArchiveFormat(rawValue: 8)
  /// Sixteen bytes: `UUID`.
  package static let uuid = ArchiveFormat(rawValue: 9)
  /// The string in UTF-8: a `URL` without a base.
  package static let url = ArchiveFormat(rawValue: 10)

  /// Elements side by side, little endian: arrays of scalars.
  package static let int8Array = ArchiveFormat(rawValue: 16)
  package static let int16Array = ArchiveFormat(rawValue: 17)
  package static let int32Array = ArchiveFormat(rawValue: 18)
  package static let int64Array = ArchiveFormat(rawValue: 19)
  package static let uint8Array = ArchiveFormat(rawValue: 20)
  package static let uint16Array = ArchiveFormat(rawValue: 21)
  package static let uint32Array = ArchiveFormat(rawValue: 22)
  package static let uint64Array = ArchiveFormat(rawValue: 23)
  package static let floatArray = ArchiveFormat(rawValue: 24)
  package static let doubleArray = ArchiveFormat(rawValue: 25)

  /// CBOR (RFC 8949) of `CBOREncoder`: `Codable` values.
  package static let cbor = ArchiveFormat(rawValue: 33)
  /// An archive of `NSKeyedArchiver`: `NSCoding` objects.
  package static let keyedArchive = ArchiveFormat(rawValue: 34)
  /// Produced by ``ObjectCoding/customArchive``.
  package static let custom = ArchiveFormat(rawValue: 35)
  /// CBOR (RFC 8949) of `CBORKeyedArchiver`: `NSCoding` objects.
  package static let objectGraph = ArchiveFormat(rawValue: 36)
}

extension ArchiveFormat {
  /// Whether the bytes are a scalar, a text or an array of scalars, without a coder.
  var isRaw: Bool { rawValue < 32 }

  var isNumeric: Bool { Self.signedInteger.rawValue...Self.float.rawValue ~= rawValue || 16..<32 ~= rawValue }
}

extension ArchiveFormat: CustomStringConvertible {
  private static let names: [ArchiveFormat: String] = [
    .bytes: "bytes", .string: "string", .bool: "bool", .signedInteger: "signed integer",
    .unsignedInteger: "unsigned integer", .double: "double", .float: "float", .date: "date", .uuid: "uuid",
    .url: "url", .int8Array: "int8 array", .int16Array: "int16 array", .int32Array: "int32 array",
    .int64Array: "int64 array", .uint8Array: "uint8 array", .uint16Array: "uint16 array",
    .uint32Array: "uint32 array", .uint64Array: "uint64 array", .floatArray: "float array",
    .doubleArray: "double array", .cbor: "cbor", .keyedArchive: "keyed archive", .custom: "custom",
    .objectGraph: "object graph",
  ]

  public var description: String { Self.names[self] ?? "format \(rawValue)" }
}

/// Converts values to record bytes and back, without the cache, for comparison with other archivers.
///
/// Not part of the supported interface. For other purposes use `CBOREncoder` of the module `CBORCoding`.
@_spi(Measuring)
public enum CacheArchive {
  /// Archives `value` and calls `body` with the bytes, which it must not keep.
  public static func withBytes<V: Codable>(
    of value: V, _ body: (ArchiveFormat, UnsafeRawBufferPointer) -> Void
  ) throws(CacheError) {
    try ValueArchiver.withArchive(of: value) { (format, bytes) throws(CacheError) in unsafe body(format, bytes.buffer) }
  }

  /// Reads a value back from bytes in the format.
  public static func value<V: Codable>(
    _ type: V.Type, from bytes: UnsafeRawBufferPointer, format: ArchiveFormat
  ) throws(CacheError) -> V {
    try unsafe ValueArchiver.value(type, from: ByteView(bytes), format: format, forKey: "")
  }
}

extension [UInt8] {
  /// Whether a file starts with a magic or a nonempty part of it.
  func begins(with magic: [UInt8]) -> Bool {
    !isEmpty && (count < magic.count ? magic.starts(with: self) : starts(with: magic))
  }
}
