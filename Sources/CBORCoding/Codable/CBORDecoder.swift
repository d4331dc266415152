public import Foundation

/// Decodes `Codable` values from CBOR (RFC 8949), written by ``CBOREncoder`` or another encoder.
///
/// It is used like `JSONDecoder` and throws the same errors with the same paths. Input is untrusted: its actual size
/// bounds time and memory, and no input ends the process.
///
/// It accepts all well-formed CBOR, including non-shortest forms, indefinite lengths, half precision and keys in any
/// order. Duplicate keys in a map are an error. Tags are ignored unless they have a meaning for the decoded type.
///
/// | type | item |
/// |---|---|
/// | integers | an integer, bignum or integral floating-point number; an error if it does not fit |
/// | `Double` | a floating-point number, or an integer that converts exactly |
/// | `Float` | like `Double`, rounded to nearest from higher precision |
/// | `Bool`, `String` | `true` or `false`; text |
/// | `nil` | `null`, `undefined`, or no entry in a map |
/// | `Data` | a byte string, or an array of numbers |
/// | `Date` | tag 0, text of RFC 3339; tag 1, tag 1001 with a base time, or a number: seconds since 2001, as `Date`
/// encodes itself |
/// | `URL`, `UUID` | text; a UUID also as a byte string |
/// | `Decimal` | tag 4, an integer, or a floating-point number in its shortest decimal form |
/// | keyed containers | a map, by a key's `stringValue`, or by its `intValue` if the map has integer keys |
/// | unkeyed containers | an array |
public struct CBORDecoder: Sendable {
  /// Values available to the `init(from:)` of decoded types.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// The nesting limit for arrays, maps, tags and values within values.
  ///
  /// Lower on threads with a small stack, as detected during decoding; the stack never overflows.
  public var maximumDepth = 512

  /// The largest input in bytes, at most 4 GiB, also after converting indefinite lengths to definite ones. An array or
  /// a map can take sixteen times its encoded size in memory, and more depending on its type.
  public var maximumSize = Int(UInt32.max) - 1

  /// The longest document that 32-bit positions can address, before and after conversion. Tests lower it.
  package var longestDocument = Int(UInt32.max) - 1

  public init() {}

  /// Decodes a value from the single item in `data`.
  ///
  /// - Throws: `DecodingError`, or the error of the type's `init(from:)`.
  public func decode<T: Decodable>(_ type: T.Type = T.self, from data: Data) throws -> T {
    // A span, because the closure of `Data.withUnsafeBytes` takes a tenth of the decoding time.
    try data.bytes.withBytes { bytes in try decode(type, from: bytes) }
  }

  package func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T {
    try unsafe decode(type, from: CBORBytes(bytes))
  }

  private func decode<T: Decodable>(_ type: T.Type, from bytes: CBORBytes) throws -> T {
    let session: CBORDecodingSession
    do throws(CBORError) {
      guard bytes.count <= min(maximumSize, longestDocument) else { throw CBORError(.tooLarge, at: 0) }
      session = try CBORDecodingSession.open(bytes, self)
    } catch {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: [], debugDescription: "The given data was not valid CBOR. \(error)",
          underlyingError: CBORCodingError(error)))
    }
    defer { session.close() }
    let decoder = CBORValueDecoder(session: session, position: .start, path: CBORCodingPath.root)
    let value = try decoder.decodeRoot(type)
    if let failure = session.state.failure { throw failure }
    return value
  }
}

struct CBORValueDecoder: Decoder, SingleValueDecodingContainer {
  let session: CBORDecodingSession
  let position: CBORPosition
  let path: CBORCodingPath.Reference

  var codingPath: [any CodingKey] { session.keys(to: path) }
  var userInfo: [CodingUserInfoKey: Any] { session.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try checkPresent([String: Any].self)
    return KeyedDecodingContainer(CBORKeyedDecoding<Key>(map: try CBORMapReader(session, at: position, path: path)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try checkPresent([Any].self)
    return try CBORUnkeyedDecoding(session, at: position, path: path)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    try session.checkOpen()
    return self
  }

  private func checkPresent(_ type: Any.Type) throws {
    if position.isAbsent { throw CBORValueError.null.decodingError(type, codingPath) }
  }

  // MARK: The single value

  func decodeNil() -> Bool {
    // Cannot throw here; the next call does.
    guard session.isOpen else { return false }
    return position.isAbsent || session.isNil(position)
  }

  @inline(__always)
  private func scalar<S: CBORScalar>(_ type: S.Type) throws -> S {
    try session.checkOpen()
    try checkPresent(type)
    do throws(CBORValueError) { return try type.readItem(at: position, session) } catch {
      throw error.decodingError(type, codingPath)
    }
  }

  @inline(__always)
  func decode<S: CBORScalar>(_ type: S.Type) throws -> S { try scalar(type) }
  // The standard library has defaults for these, which take precedence over a generic function.
  func decode(_ type: Int128.Type) throws -> Int128 { try scalar(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try scalar(type) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try session.checkOpen()
    let leaf = CBORLeaf.of(type)
    if leaf != .none {
      do throws(CBORValueError) { return try value(leaf, type) } catch { try askInstead(type, error) }
    }
    let mark = session.path.mark
    defer { session.path.pop(to: mark) }
    return try session.value(type, at: position, path: session.path.push(under: path))
  }

  func decodeRoot<T: Decodable>(_ type: T.Type) throws -> T {
    let leaf = CBORLeaf.of(type)
    if leaf != .none {
      do throws(CBORValueError) { return try value(leaf, type) } catch { try askInstead(type, error) }
    }
    return try type.init(from: self)
  }

  @inline(__always)
  private func value<T>(_ leaf: CBORLeaf, _ type: T.Type) throws(CBORValueError) -> T {
    if position.isAbsent { throw .null }
    return try session.leaf(leaf, type, at: position)
  }

  private func askInstead(_ type: Any.Type, _ error: CBORValueError) throws {
    guard case .otherForm = error else { throw error.decodingError(type, codingPath) }
  }
}

struct CBORKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let map: CBORMapReader

  var codingPath: [any CodingKey] { map.codingPath }

  /// The keys of this type, in document order. Empty once the document is gone.
  ///
  /// Decoding finally fails for a type that accepts any name if it has missed values under other keys.
  var allKeys: [Key] {
    // Cannot throw here; the next call does.
    guard let (keys, hasOthers) = try? map.keys(Key.self) else { return [] }
    if hasOthers, map.session.state.failure == nil, Key(stringValue: "\u{0}") != nil {
      map.session.state.failure = .dataCorrupted(
        .init(
          codingPath: codingPath, debugDescription: "A key of the map is neither text nor a signed 64-bit integer."))
    }
    return keys
  }

  func contains(_ key: Key) -> Bool {
    // Cannot throw here; the next call does.
    (try? map.find(key)) != nil
  }

  func decodeNil(forKey key: Key) throws -> Bool { map.session.isNil(try position(key)) }

  // MARK: Values

  @inline(__always)
  private func position(_ key: Key) throws -> CBORPosition {
    guard let position = try map.find(key) else { throw notFound(key) }
    return position
  }

  private func notFound(_ key: Key) -> DecodingError {
    .keyNotFound(
      key,
      .init(
        codingPath: codingPath, debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."))
  }

  @inline(__always)
  private func scalar<S: CBORScalar>(_ type: S.Type, _ key: Key) throws -> S {
    let position = try position(key)
    do throws(CBORValueError) { return try type.readItem(at: position, map.session) } catch {
      throw error.decodingError(type, codingPath + [key])
    }
  }

  @inline(__always)
  private func scalarIfPresent<S: CBORScalar>(_ type: S.Type, _ key: Key) throws -> S? {
    guard let position = try map.find(key) else { return nil }
    do throws(CBORValueError) { return try type.readItem(at: position, map.session) } catch {
      if case .null = error { return nil }
      throw error.decodingError(type, codingPath + [key])
    }
  }

  @inline(__always)
  func decode<S: CBORScalar>(_ type: S.Type, forKey key: Key) throws -> S { try scalar(type, key) }
  // The standard library has defaults for these, which take precedence over a generic function.
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try scalar(type, key) }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try scalar(type, key) }
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try scalarIfPresent(type, key) }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try scalarIfPresent(type, key) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try value(type, at: try position(key), key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let position = try map.find(key), !map.session.isNil(position) else { return nil }
    return try value(type, at: position, key)
  }

  @inline(__always)
  private func value<T: Decodable>(_ type: T.Type, at position: CBORPosition, _ key: Key) throws -> T {
    let session = map.session
    let leaf = CBORLeaf.of(type)
    if leaf != .none {
      do throws(CBORValueError) {
        return try session.leaf(leaf, type, at: position)
      } catch {
        guard case .otherForm = error else { throw error.decodingError(type, codingPath + [key]) }
      }
    }
    return try unsafe withUnsafePointer(to: key) { key in
      let mark = session.path.mark
      defer { session.path.pop(to: mark) }
      return try unsafe session.value(type, at: position, path: session.path.push(borrowing: key, under: map.path))
    }
  }

  // MARK: Containers within

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let position = try position(key)
    let path = try map.session.nestedPath(key, under: map.path)
    return KeyedDecodingContainer(
      CBORKeyedDecoding<NestedKey>(map: try CBORMapReader(map.session, at: position, path: path)))
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    let position = try position(key)
    return try CBORUnkeyedDecoding(
      map.session, at: position, path: try map.session.nestedPath(key, under: map.path))
  }

  func superDecoder() throws -> any Decoder { try superDecoder(CBORCodingKey.superclass) }

  func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(key) }

  /// A missing value reads as null, like in `JSONDecoder`: a superclass may have encoded nothing.
  private func superDecoder(_ key: some CodingKey) throws -> any Decoder {
    CBORValueDecoder(
      session: map.session, position: try map.find(key) ?? .absent,
      path: try map.session.nestedPath(key, under: map.path))
  }
}

struct CBORUnkeyedDecoding: UnkeyedDecodingContainer {
  private let session: CBORDecodingSession
  private let path: CBORCodingPath.Reference
  private let elements: UInt32
  private var index: UInt32 = 0
  private var position: CBORPosition

  /// - Throws: `DecodingError` unless there is an array at `position`.
  init(_ session: CBORDecodingSession, at position: CBORPosition, path: CBORCodingPath.Reference) throws {
    var position = position
    try session.requireContainer(.array, [Any].self, at: &position, path)
    elements = UInt32(truncatingIfNeeded: session.enter(&position))
    self.session = session
    self.path = path
    self.position = position
  }

  var codingPath: [any CodingKey] { session.keys(to: path) }
  /// The verified number of elements, safe for reserving memory.
  var count: Int? { Int(elements) }
  var currentIndex: Int { Int(index) }
  var isAtEnd: Bool { index == elements }

  private var key: CBORCodingKey { CBORCodingKey(index: currentIndex) }

  @inline(__always)
  private func checkNext(_ type: Any.Type) throws {
    try session.checkOpen()
    guard index < elements else { throw endError(type) }
  }

  private func endError(_ type: Any.Type) -> DecodingError {
    .valueNotFound(type, .init(codingPath: codingPath + [key], debugDescription: "Unkeyed container is at end."))
  }

  @inline(__always)
  private mutating func advance() {
    session.skip(&position)
    index &+= 1
  }

  // MARK: Values

  mutating func decodeNil() throws -> Bool {
    try checkNext(Never.self)
    guard session.isNil(position) else { return false }
    advance()
    return true
  }

  @inline(__always)
  private mutating func scalar<S: CBORScalar>(_ type: S.Type) throws -> S {
    try checkNext(type)
    do throws(CBORValueError) {
      let value = try type.readItem(at: position, session)
      advance()
      return value
    } catch {
      throw error.decodingError(type, codingPath + [key])
    }
  }

  @inline(__always)
  mutating func decode<S: CBORScalar>(_ type: S.Type) throws -> S { try scalar(type) }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try scalar(type) }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try scalar(type) }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try checkNext(type)
    let leaf = CBORLeaf.of(type)
    if leaf != .none {
      do throws(CBORValueError) {
        let value = try session.leaf(leaf, type, at: position)
        advance()
        return value
      } catch {
        guard case .otherForm = error else { throw error.decodingError(type, codingPath + [key]) }
      }
    }
    let mark = session.path.mark
    defer { session.path.pop(to: mark) }
    let value = try session.value(type, at: position, path: session.path.push(index: currentIndex, under: path))
    advance()
    return value
  }

  // MARK: Containers within

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try checkNext(KeyedDecodingContainer<NestedKey>.self)
    let map = try CBORMapReader(session, at: position, path: try session.nestedPath(key, under: path))
    advance()
    return KeyedDecodingContainer(CBORKeyedDecoding<NestedKey>(map: map))
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try checkNext((any UnkeyedDecodingContainer).self)
    let nested = try CBORUnkeyedDecoding(session, at: position, path: try session.nestedPath(key, under: path))
    advance()
    return nested
  }

  mutating func superDecoder() throws -> any Decoder {
    try checkNext((any Decoder).self)
    let decoder = CBORValueDecoder(
      session: session, position: position, path: try session.nestedPath(key, under: path))
    advance()
    return decoder
  }
}
