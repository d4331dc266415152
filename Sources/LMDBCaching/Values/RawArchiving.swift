import Foundation

/// The closed list of raw types, and their dispatch from a generic parameter.
enum RawArchiving {
  /// Calls `body` with the raw bytes of `value`, or returns `nil` for other types.
  ///
  /// Compares pointers, most common types first: a conformance look-up costs ten times as much.
  @inline(__always)
  static func withRawBytes<V, R>(
    of value: V, _ body: (ArchiveFormat, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R? {
    if V.self == Data.self { return try cast(value, to: Data.self).withRawBytes(body) }
    if V.self == String.self { return try cast(value, to: String.self).withRawBytes(body) }
    if V.self == Int.self { return try cast(value, to: Int.self).withRawBytes(body) }
    if V.self == Double.self { return try cast(value, to: Double.self).withRawBytes(body) }
    if V.self == Bool.self { return try cast(value, to: Bool.self).withRawBytes(body) }
    if V.self == Date.self { return try cast(value, to: Date.self).withRawBytes(body) }
    if V.self == UUID.self { return try cast(value, to: UUID.self).withRawBytes(body) }
    if !isRaw(V.self) { return nil }
    // A URL with a base is encoded, to come back with it.
    if V.self == URL.self, cast(value, to: URL.self).baseURL != nil { return nil }
    guard let raw = value as? any RawArchivable else { return nil }
    return try raw.withRawBytes(body)
  }

  /// Whether a raw type holds numbers, which are converted.
  static func isNumeric<V>(_ type: V.Type) -> Bool {
    let others: [Any.Type] = [Data.self, String.self, Bool.self, Date.self, UUID.self, URL.self]
    return !others.contains { $0 == type }
  }

  enum Failure: Error {
    /// The type is not stored raw.
    case otherType
    /// The record holds another type, or a value out of range.
    case mismatch
  }

  /// Reads a value of a raw type. Throws instead of returning an optional, which costs more than the rest for a type
  /// known only at run time.
  @inline(__always)
  static func value<V>(
    _ type: V.Type, from bytes: UnsafeRawBufferPointer, format: ArchiveFormat
  ) throws(Failure) -> V {
    if V.self == Data.self { return try cast(Data.read(bytes, format), to: type) }
    if V.self == String.self { return try cast(String.read(bytes, format), to: type) }
    if V.self == Int.self { return try cast(Int.read(bytes, format), to: type) }
    if V.self == Double.self { return try cast(Double.read(bytes, format), to: type) }
    if V.self == Bool.self { return try cast(Bool.read(bytes, format), to: type) }
    if V.self == Date.self { return try cast(Date.read(bytes, format), to: type) }
    if V.self == UUID.self { return try cast(UUID.read(bytes, format), to: type) }
    if !isRaw(type) { throw .otherType }
    guard let raw = type as? any RawArchivable.Type, let value = raw.init(rawBytes: bytes, format: format) as? V
    else { throw .mismatch }
    return value
  }

  /// Reads a raw record by its format, for readers that ask for another type.
  static func anyValue(from bytes: UnsafeRawBufferPointer, format: ArchiveFormat) -> (any RawArchivable)? {
    let types: [any RawArchivable.Type] =
      switch format {
      case .bytes: [Data.self]
      case .string: [String.self]
      case .bool: [Bool.self]
      case .signedInteger: [Int64.self]
      case .unsignedInteger: [UInt64.self]
      case .double: [Double.self]
      case .float: [Float.self]
      case .date: [Date.self]
      case .uuid: [UUID.self]
      case .url: [URL.self]
      case .int8Array: [[Int8].self]
      case .int16Array: [[Int16].self]
      case .int32Array: [[Int32].self]
      case .int64Array: [[Int64].self]
      case .uint8Array: [[UInt8].self]
      case .uint16Array: [[UInt16].self]
      case .uint32Array: [[UInt32].self]
      case .uint64Array: [[UInt64].self]
      case .floatArray: [[Float].self]
      case .doubleArray: [[Double].self]
      default: []
      }
    return types.first?.init(rawBytes: bytes, format: format)
  }

  /// Whether releasing values of this type is trivial.
  static func isCheapToRelease<V>(_ type: V.Type) -> Bool {
    V.self == Data.self || V.self == String.self || V.self == Int.self || V.self == Double.self
      || V.self == Bool.self || isRaw(V.self)
  }

  private static let otherTypes: Set<ObjectIdentifier> = {
    let types: [any RawArchivable.Type] = [
      Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self, UInt64.self,
      Float.self, Date.self, UUID.self, URL.self,
      [Int].self, [Int8].self, [Int16].self, [Int32].self, [Int64].self,
      [UInt].self, [UInt8].self, [UInt16].self, [UInt32].self, [UInt64].self, [Float].self, [Double].self,
    ]
    return Set(types.map { ObjectIdentifier($0) })
  }()

  private static func isRaw<V>(_ type: V.Type) -> Bool { otherTypes.contains(ObjectIdentifier(type)) }

  /// Reinterprets a value whose type is known to be `Target`.
  @inline(__always)
  static func cast<Source, Target>(_ value: Source, to type: Target.Type) -> Target {
    withUnsafePointer(to: value) { UnsafeRawPointer($0).assumingMemoryBound(to: Target.self).pointee }
  }
}

extension RawArchivable {
  @inline(__always)
  fileprivate static func read(
    _ bytes: UnsafeRawBufferPointer, _ format: ArchiveFormat
  ) throws(RawArchiving.Failure) -> Self {
    guard let value = Self(rawBytes: bytes, format: format) else { throw .mismatch }
    return value
  }
}

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
