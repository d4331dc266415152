public import Foundation

/// Decodes `Codable` values from CBOR (RFC 8949), that of ``CBOREncoder`` or of anybody else.
///
/// It is used as `JSONDecoder` is, and throws the errors that it throws, with the same paths. Input is not trusted:
/// time and memory are bounded by its size, whatever it declares, and there is no input that ends the process.
///
/// It takes any well-formed CBOR: longer forms than needed, indefinite lengths, half precision, keys in any order.
/// Two entries of a map with the same key are an error. Tags are looked through, but for those that mean something to
/// the type which is decoded.
///
/// | type | item |
/// |---|---|
/// | integers | an integer or bignum, or a floating-point number that is integral; an error if it does not fit |
/// | `Double` | a floating-point number, or an integer that is one exactly |
/// | `Float` | the same, rounded to the nearest where it was written with more precision |
/// | `Bool`, `String` | `true` or `false`; text |
/// | `nil` | `null`, `undefined`, or no entry in a map |
/// | `Data` | a byte string, or an array of numbers |
/// | `Date` | tag 0, text of RFC 3339; tag 1, tag 1001 with a base time, or a number: seconds since 2001, as `Date` encodes itself |
/// | `URL`, `UUID` | text; a UUID also as a byte string |
/// | `Decimal` | tag 4, an integer, or a floating-point number, of which the shortest decimal form is taken |
/// | keyed containers | a map: by a key's `stringValue`, else, where the map has integers as keys, by its `intValue` |
/// | unkeyed containers | an array |
public struct CBORDecoder: Sendable {
  /// What the types' `init(from:)` finds in its decoder.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

  /// How deep arrays, maps and tags, and values within values, may nest.
  ///
  /// A thread whose stack is too small for that depth sets a lower limit, which is found out while decoding; the stack
  /// never overflows.
  public var maximumDepth = 512

  /// The longest input that is decoded, in bytes; at most 4 GiB, also with definite lengths in the place of indefinite
  /// ones. What an array or a map takes in memory can be sixteen times its size, and more by what the type makes of it.
  public var maximumSize = Int(UInt32.max) - 1

  /// The longest document that positions of 32 bits reach, as input and in its definite form. Lower in tests.
  package var longestDocument = Int(UInt32.max) - 1

  public init() {}

  /// A value of the type, from the one item that `data` is.
  ///
  /// - Throws: `DecodingError`, or what the type's `init(from:)` throws.
  public func decode<T: Decodable>(_ type: T.Type = T.self, from data: Data) throws -> T {
    // A span, since the closure of `Data.withUnsafeBytes` costs a tenth of what the decoding does.
    try data.bytes.withUnsafeBytes { bytes in try decode(type, from: bytes) }
  }

  /// The same, from bytes that are borrowed.
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
