public import Foundation

/// Encodes `Codable` values as CBOR (RFC 8949), in the deterministic form of its section 4.2.1.
///
/// It is used like `JSONEncoder`. A value that survives JSON unchanged also survives CBOR, and so do values that JSON
/// refuses, such as `Double.nan`.
///
/// Encoding is deterministic across processes: numbers and lengths have their shortest form, and map entries, set
/// elements and array-encoded dictionaries are sorted by encoded bytes, unless a type calls their `encode(to:)` itself.
///
/// | value | item |
/// |---|---|
/// | integers of up to 64 bits | an integer; wider ones a bignum (tags 2 and 3), if they do not fit |
/// | `Double`, `Float` | the shortest floating-point number that keeps the value; every NaN is the same NaN |
/// | `String`, `Bool`, `nil` | text, `true` or `false`, `null` |
/// | `Data` | a byte string |
/// | `Date` | tag 1 where that is exact; else tag 1001 (RFC 9581) or a number. Every date comes back bit for bit |
/// | `URL`, `UUID`, `Decimal` | tags 32, 37 and 4; a map for a `URL` with a base |
/// | keyed containers | a map with text keys |
/// | unkeyed containers | an array |
///
/// Coding keys are encoded by their `stringValue`, even if they have an `intValue`. The decoder also accepts integers.
///
/// A value that requests no container is an error at the top level, and an empty map inside another value, as with
/// `JSONEncoder`.
public struct CBOREncoder: Sendable {
  /// Values available to the `encode(to:)` of encoded values.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// The nesting limit. A reference cycle is an error that names the path, never a stack overflow.
  ///
  /// Lower on threads with a small stack, as detected during encoding.
  public var maximumDepth = 512

  public init() {}

  /// Encodes a value.
  ///
  /// - Throws: `EncodingError` with the path of the failure, or the error of the value's `encode(to:)`.
  public func encode<T: Encodable>(_ value: T) throws -> Data {
    var buffer = CBOREncodingBuffer.take()
    defer { CBOREncodingBuffer.end(&buffer) }
    try buffer.encodeRoot(value, self)
    return buffer.writer.data
  }

  /// Lends the encoded form to `body` without copying. Returns or rethrows its result.
  package func withEncoded<T: Encodable, R, E: Error>(
    _ value: T, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws -> Result<R, E> {
    var buffer = CBOREncodingBuffer.take()
    defer { CBOREncodingBuffer.end(&buffer) }
    try buffer.encodeRoot(value, self)
    return buffer.writer.withBytes { bytes in
      do throws(E) { return unsafe .success(try body(bytes.pointer)) } catch { return .failure(error) }
    }
  }
}

/// The encoder that a value is handed, and its single value container.
struct CBORValueEncoder: Encoder, SingleValueEncodingContainer {
  let buffer: CBOREncodingBuffer
  /// Of the value.
  let serial: UInt64

  var codingPath: [any CodingKey] { buffer.codingPath(serial) }
  var userInfo: [CodingUserInfoKey: Any] { buffer.session.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(CBORKeyedEncoding<Key>(buffer: buffer, serial: buffer.container(.keyed, serial)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    CBORUnkeyedEncoding(buffer: buffer, serial: buffer.container(.unkeyed, serial))
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    CBORValueEncoder(buffer: buffer, serial: buffer.container(.single, serial))
  }

  // MARK: The single value

  func encodeNil() throws {
    try buffer.beginSingle(serial)
    buffer.writer.writeNull()
  }

  @inline(__always)
  private func encodeScalar<S: CBORScalar>(_ value: S) throws {
    try buffer.beginSingle(serial)
    value.writeItem(to: &buffer.writer)
  }

  @inline(__always)
  func encode<S: CBORScalar>(_ value: S) throws { try encodeScalar(value) }
  // The standard library has defaults for these, which take precedence over a generic function.
  func encode(_ value: Int128) throws { try encodeScalar(value) }
  func encode(_ value: UInt128) throws { try encodeScalar(value) }

  func encode<T: Encodable>(_ value: T) throws {
    let leaf = CBORLeaf.of(T.self)
    if leaf != .none {
      try buffer.beginSingle(serial)
      return buffer.write(leaf, value)
    }
    let mark = buffer.mark
    try buffer.beginSingle(serial)
    let path = buffer.session.path.push(under: buffer.top.path)
    try buffer.encodeValue(value, path: path, mark: mark)
  }
}

struct CBORKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let buffer: CBOREncodingBuffer
  let serial: UInt64

  var codingPath: [any CodingKey] { buffer.codingPath(serial) }

  func encodeNil(forKey key: Key) throws {
    try buffer.beginEntry(key, serial)
    buffer.writer.writeNull()
  }

  @inline(__always)
  private func encodeScalar<S: CBORScalar>(_ value: S, _ key: Key) throws {
    try buffer.beginEntry(key, serial)
    value.writeItem(to: &buffer.writer)
  }

  @inline(__always)
  func encode<S: CBORScalar>(_ value: S, forKey key: Key) throws { try encodeScalar(value, key) }
  func encode(_ value: Int128, forKey key: Key) throws { try encodeScalar(value, key) }
  func encode(_ value: UInt128, forKey key: Key) throws { try encodeScalar(value, key) }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    let leaf = CBORLeaf.of(T.self)
    if leaf != .none {
      try buffer.beginEntry(key, serial)
      return buffer.write(leaf, value)
    }
    let mark = buffer.mark
    try buffer.beginEntry(key, serial)
    try unsafe withUnsafePointer(to: key) { key in
      let path = unsafe buffer.session.path.push(borrowing: key, under: buffer.top.path)
      try buffer.encodeValue(value, path: path, mark: mark)
    }
  }

  // MARK: Containers within

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    let (buffer, serial) = buffer.nested(.keyed, forKey: key, serial)
    return KeyedEncodingContainer(CBORKeyedEncoding<NestedKey>(buffer: buffer, serial: serial))
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    let (buffer, serial) = buffer.nested(.unkeyed, forKey: key, serial)
    return CBORUnkeyedEncoding(buffer: buffer, serial: serial)
  }

  func superEncoder() -> any Encoder {
    let (buffer, serial) = buffer.nested(.none, forKey: CBORCodingKey.superclass, serial)
    return CBORValueEncoder(buffer: buffer, serial: serial)
  }

  func superEncoder(forKey key: Key) -> any Encoder {
    let (buffer, serial) = buffer.nested(.none, forKey: key, serial)
    return CBORValueEncoder(buffer: buffer, serial: serial)
  }
}

/// The array of a value that is being encoded.
struct CBORUnkeyedEncoding: UnkeyedEncodingContainer {
  let buffer: CBOREncodingBuffer
  /// Of the value that the array is.
  let serial: UInt64

  var codingPath: [any CodingKey] { buffer.codingPath(serial) }

  var count: Int { buffer.count(of: serial) }

  func encodeNil() throws {
    try buffer.beginElement(serial)
    buffer.writer.writeNull()
  }

  @inline(__always)
  private func encodeScalar<S: CBORScalar>(_ value: S) throws {
    try buffer.beginElement(serial)
    value.writeItem(to: &buffer.writer)
  }

  @inline(__always)
  func encode<S: CBORScalar>(_ value: S) throws { try encodeScalar(value) }
  // The standard library has defaults for these, which take precedence over a generic function.
  func encode(_ value: Int128) throws { try encodeScalar(value) }
  func encode(_ value: UInt128) throws { try encodeScalar(value) }

  func encode<T: Encodable>(_ value: T) throws {
    let leaf = CBORLeaf.of(T.self)
    if leaf != .none {
      try buffer.beginElement(serial)
      return buffer.write(leaf, value)
    }
    let mark = buffer.elementMark
    try buffer.beginElement(serial)
    let path = buffer.session.path.push(index: mark.index, under: buffer.top.path)
    try buffer.encodeValue(value, path: path, mark: mark)
  }

  // MARK: Containers within

  func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
    let (buffer, serial) = buffer.nestedElement(.keyed, serial)
    return KeyedEncodingContainer(CBORKeyedEncoding<NestedKey>(buffer: buffer, serial: serial))
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    let (buffer, serial) = buffer.nestedElement(.unkeyed, serial)
    return CBORUnkeyedEncoding(buffer: buffer, serial: serial)
  }

  func superEncoder() -> any Encoder {
    let (buffer, serial) = buffer.nestedElement(.none, serial)
    return CBORValueEncoder(buffer: buffer, serial: serial)
  }
}
