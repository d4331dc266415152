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
      do throws(E) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
  }
}
