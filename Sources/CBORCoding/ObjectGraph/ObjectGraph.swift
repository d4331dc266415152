/// The archive format of NSCoding objects: one CBOR item (RFC 8949), readable by any CBOR tool.
///
/// An archive is a map of the top level's values: under text keys, or under the integers 0, 1, … for values encoded
/// without a key. A value is one of
///
/// | value | item |
/// |---|---|
/// | nil | undefined |
/// | `NSNull` | null |
/// | `Bool`, integers, `Float`, `Double`, `NSNumber` | false, true, integer, single or double precision |
/// | `String`, `NSString` | text |
/// | bytes, `Data`, `NSData` | byte string |
/// | `NSArray` | array |
/// | `NSDictionary` | map, keys of any kind |
/// | `NSSet` | tag 258 around an array |
/// | `NSDate` | tag 1 around seconds since 1970 where they are exact, else tag 27 around seconds since 2001 |
/// | `NSDecimalNumber` | tag 4 |
/// | `NSURL` | tag 32, with a base tag 27 |
/// | `NSUUID` | tag 37 |
/// | everything else | tag 27 around an array of the class's name and contents |
///
/// The contents of other objects are a map of the keys that `encode(with:)` used, in order. Mutable variants of
/// Foundation's classes also use tag 27, so that they stay mutable.
///
/// A shared value has tag 28, and each reference to it is tag 29 around its number; numbers count the tags 28 from 0.
/// Only a conditional reference may precede its object.
///
/// Encoding is deterministic: shortest heads, definite lengths, and dictionaries and sets sorted by the encoded bytes
/// of keys and elements (the first 4 KiB for objects and collections).
enum ObjectGraph {
  /// The nesting limit of objects and collections, if the thread's stack allows: each level is a call of
  /// `encode(with:)` or `init(coder:)`.
  static let maximumDepth = 512

  /// Shorter immutable strings and data are written each time.
  static let leastSharedLength = 64
}

extension CBORTag {
  /// An array of a type's name and its object's contents (registered by Marc Lehmann).
  static let object: UInt64 = 27
  static let shared: UInt64 = 28
  static let reference: UInt64 = 29
  static let set: UInt64 = 258
}
