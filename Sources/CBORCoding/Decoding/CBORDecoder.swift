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
    try data.bytes.withUnsafeBytes { bytes in try decode(type, from: bytes) }
  }

  package func decode<T: Decodable>(_ type: T.Type, from bytes: UnsafeRawBufferPointer) throws -> T {
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
    if let failure = session.state.pointee.failure { throw failure }
    return value
  }
}
