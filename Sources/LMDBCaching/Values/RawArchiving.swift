import Foundation

/// The closed list of raw types, and their dispatch from a generic parameter.
enum RawArchiving {
  /// Calls `body` with the raw bytes of `value`, or returns `nil` for other types.
  ///
  /// Compares pointers, most common types first: a conformance look-up costs ten times as much.
  @inline(__always)
  static func withRawBytes<V, R>(
    of value: V, _ body: (ArchiveFormat, ByteView) throws(CacheError) -> R
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
  static func value<V>(_ type: V.Type, from bytes: ByteView, format: ArchiveFormat) throws(Failure) -> V {
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
  static func anyValue(from bytes: ByteView, format: ArchiveFormat) -> (any RawArchivable)? {
    types[format]?.init(rawBytes: bytes, format: format)
  }

  private static let types: [ArchiveFormat: any RawArchivable.Type] = [
    .bytes: Data.self, .string: String.self, .bool: Bool.self, .signedInteger: Int64.self,
    .unsignedInteger: UInt64.self, .double: Double.self, .float: Float.self, .date: Date.self, .uuid: UUID.self,
    .url: URL.self, .int8Array: [Int8].self, .int16Array: [Int16].self, .int32Array: [Int32].self,
    .int64Array: [Int64].self, .uint8Array: [UInt8].self, .uint16Array: [UInt16].self, .uint32Array: [UInt32].self,
    .uint64Array: [UInt64].self, .floatArray: [Float].self, .doubleArray: [Double].self,
  ]

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
    unsafe withUnsafePointer(to: value) { unsafe UnsafeRawPointer($0).assumingMemoryBound(to: Target.self).pointee }
  }
}

extension RawArchivable {
  @inline(__always)
  fileprivate static func read(_ bytes: ByteView, _ format: ArchiveFormat) throws(RawArchiving.Failure) -> Self {
    guard let value = Self(rawBytes: bytes, format: format) else { throw .mismatch }
    return value
  }
}

/// A type whose values are stored as raw little-endian bytes, without a coder. ``RawArchiving`` lists the types, and
/// finds them by comparing type identities.
protocol RawArchivable: Codable, Sendable {
  func withRawBytes<R>(_ body: (ArchiveFormat, ByteView) throws(CacheError) -> R) throws(CacheError) -> R

  /// Returns `nil` for another kind of value, or one out of range.
  init?(rawBytes: ByteView, format: ArchiveFormat)
}

/// A scalar that is stored as a value of fixed size, little endian.
protocol RawScalar: RawArchivable {
  associatedtype Bits: BitwiseCopyable
  static var rawFormat: ArchiveFormat { get }
  var bits: Bits { get }
  init?(bits: Bits)
}

extension RawScalar {
  @inline(__always)
  func withRawBytes<R>(_ body: (ArchiveFormat, ByteView) throws(CacheError) -> R) throws(CacheError) -> R {
    try withScalarBytes(of: bits, Self.rawFormat, body)
  }

  @inline(__always)
  init?(rawBytes: ByteView, format: ArchiveFormat) {
    guard format == Self.rawFormat, rawBytes.count == MemoryLayout<Bits>.size else { return nil }
    self.init(bits: rawBytes.loadBits())
  }
}

extension RawArchivable where Self: FixedWidthInteger {
  @inline(__always)
  func withRawBytes<R>(_ body: (ArchiveFormat, ByteView) throws(CacheError) -> R) throws(CacheError) -> R {
    if Self.isSigned {
      return try withScalarBytes(of: Int64(truncatingIfNeeded: self).littleEndian, .signedInteger, body)
    }
    return try withScalarBytes(of: UInt64(truncatingIfNeeded: self).littleEndian, .unsignedInteger, body)
  }

  @inline(__always)
  init?(rawBytes: ByteView, format: ArchiveFormat) {
    guard rawBytes.count == 8 else { return nil }
    switch format {
    case .signedInteger: self.init(exactly: rawBytes.load(as: Int64.self))
    case .unsignedInteger: self.init(exactly: rawBytes.load(as: UInt64.self))
    default: return nil
    }
  }
}

extension Bool: RawScalar {
  static var rawFormat: ArchiveFormat { .bool }
  var bits: UInt8 { self ? 1 : 0 }

  init?(bits: UInt8) {
    if bits > 1 { return nil }
    self = bits == 1
  }
}

extension Double: RawScalar {
  static var rawFormat: ArchiveFormat { .double }
  var bits: UInt64 { bitPattern.littleEndian }
  init(bits: UInt64) { self.init(bitPattern: UInt64(littleEndian: bits)) }
}

extension Float: RawScalar {
  static var rawFormat: ArchiveFormat { .float }
  var bits: UInt32 { bitPattern.littleEndian }
  init(bits: UInt32) { self.init(bitPattern: UInt32(littleEndian: bits)) }
}

extension Date: RawScalar {
  static var rawFormat: ArchiveFormat { .date }
  var bits: UInt64 { timeIntervalSinceReferenceDate.bits }
  init(bits: UInt64) { self.init(timeIntervalSinceReferenceDate: Double(bits: bits)) }
}

extension UUID: RawScalar {
  static var rawFormat: ArchiveFormat { .uuid }
  var bits: uuid_t { uuid }
  init(bits: uuid_t) { self.init(uuid: bits) }
}

extension String: RawArchivable {
  @inline(__always)
  func withRawBytes<R>(_ body: (ArchiveFormat, ByteView) throws(CacheError) -> R) throws(CacheError) -> R {
    try withUTF8Bytes(of: self) { (bytes) throws(CacheError) in try body(.string, bytes) }
  }

  init?(rawBytes: ByteView, format: ArchiveFormat) {
    guard format == .string else { return nil }
    self.init(utf8: rawBytes)
  }
}

extension Data: RawArchivable {
  @inline(__always)
  func withRawBytes<R>(_ body: (ArchiveFormat, ByteView) throws(CacheError) -> R) throws(CacheError) -> R {
    try withBytes { (bytes) throws(CacheError) in try body(.bytes, bytes) }
  }

  init?(rawBytes: ByteView, format: ArchiveFormat) {
    guard format == .bytes else { return nil }
    self.init(rawBytes)
  }
}

extension URL: RawArchivable {
  func withRawBytes<R>(_ body: (ArchiveFormat, ByteView) throws(CacheError) -> R) throws(CacheError) -> R {
    try withUTF8Bytes(of: absoluteString) { (bytes) throws(CacheError) in try body(.url, bytes) }
  }

  init?(rawBytes: ByteView, format: ArchiveFormat) {
    guard format == .url else { return nil }
    self.init(string: String(utf8: rawBytes))
  }
}

/// An element of an array that is stored as raw bytes.
protocol RawElement: BitwiseCopyable, Codable, Sendable {
  static var arrayFormat: ArchiveFormat { get }
}

extension Int: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .int64Array } }
extension Int8: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .int8Array } }
extension Int16: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .int16Array } }
extension Int32: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .int32Array } }
extension Int64: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .int64Array } }
extension UInt: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .uint64Array } }
extension UInt8: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .uint8Array } }
extension UInt16: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .uint16Array } }
extension UInt32: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .uint32Array } }
extension UInt64: RawArchivable, RawElement { static var arrayFormat: ArchiveFormat { .uint64Array } }
extension Float: RawElement { static var arrayFormat: ArchiveFormat { .floatArray } }
extension Double: RawElement { static var arrayFormat: ArchiveFormat { .doubleArray } }

#if _endian(big)
  #error("Arrays of scalars are stored as they lie in memory, little endian.")
#endif

extension Array: RawArchivable where Element: RawElement {
  func withRawBytes<R>(_ body: (ArchiveFormat, ByteView) throws(CacheError) -> R) throws(CacheError) -> R {
    try unsafe withUnsafeBytes { bytes in
      outcome { () throws(CacheError) in try unsafe body(Element.arrayFormat, ByteView(bytes)) }
    }.get()
  }

  init?(rawBytes: ByteView, format: ArchiveFormat) {
    let stride = MemoryLayout<Element>.stride
    guard format == Element.arrayFormat, rawBytes.count % stride == 0 else { return nil }
    // All empty arrays share one storage. The next initializer writes to it, which the thread sanitizer reports.
    guard rawBytes.count > 0 else {
      self.init()
      return
    }
    unsafe self.init(unsafeUninitializedCapacity: rawBytes.count / stride) { buffer, count in
      unsafe MutableByteView(UnsafeMutableRawBufferPointer(buffer)).copy(rawBytes)
      count = rawBytes.count / stride
    }
  }
}

@inline(__always)
private func withScalarBytes<T: BitwiseCopyable, R>(
  of value: T, _ format: ArchiveFormat, _ body: (ArchiveFormat, ByteView) throws(CacheError) -> R
) throws(CacheError) -> R {
  try unsafe withUnsafePointer(to: value) { (pointer) throws(CacheError) in
    try unsafe body(format, ByteView(UnsafeRawBufferPointer(start: pointer, count: MemoryLayout<T>.size)))
  }
}
