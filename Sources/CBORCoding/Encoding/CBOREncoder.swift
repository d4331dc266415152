public import Foundation

/// Encodes `Codable` values as CBOR (RFC 8949), in the deterministic form of its section 4.2.1.
///
/// It is used as `JSONEncoder` is, and what the two do with a value is the same where JSON can tell: what comes back
/// equal from JSON comes back equal from CBOR, also values that JSON refuses, such as `Double.nan`.
///
/// The same value gives the same bytes, in every process: numbers and lengths have their shortest form, and the
/// entries of maps, the elements of sets and the keys of dictionaries that are arrays are sorted by their encoded bytes.
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
/// A coding key is encoded as its `stringValue`, also where it has an `intValue`: every key has a string, and with
/// one name for each key a type can change its keys, or another can read them. The decoder takes integers too.
///
/// A value that asks for no container is an error at the top, and an empty map within another, as with `JSONEncoder`.
public struct CBOREncoder: Sendable {
  /// What the values' `encode(to:)` finds in its encoder.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// How deep values may nest: a cycle of references is an error that names the path, and never a stack overflow.
  ///
  /// A thread whose stack is too small for that depth sets a lower limit, which is found out while encoding.
  public var maximumDepth = 512

  public init() {}

  /// The encoded form of `value`.
  ///
  /// - Throws: `EncodingError` with the path to what cannot be encoded, or what the value's `encode(to:)` throws.
  public func encode<T: Encodable>(_ value: T) throws -> Data {
    var buffer = CBOREncodingBuffer.take()
    defer { CBOREncodingBuffer.end(&buffer) }
    try buffer.encodeRoot(value, self)
    return buffer.writer.data
  }

  /// Calls `body` with the encoded form, which is valid in it only, and not copied; what it returns or throws.
  package func withEncoded<T: Encodable, R, E: Error>(
    _ value: T, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws -> Result<R, E> {
    var buffer = CBOREncodingBuffer.take()
    defer { CBOREncodingBuffer.end(&buffer) }
    try buffer.encodeRoot(value, self)
    return buffer.writer.withBytes { bytes in
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
  }
}
