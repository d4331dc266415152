/// The form of an archive of NSCoding objects: one CBOR item (RFC 8949), which any tool for CBOR can read.
///
/// An archive is a map of what was encoded at the top level: text keys, and for values that were encoded without a
/// key the integers 0, 1, … in their order. A value is one of
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
/// | everything else | tag 27 around an array of the class's name and what the class makes of its contents |
///
/// An object of a class of one's own has a map as its contents, with the keys its `encode(with:)` used, in that
/// order. Mutable variants of Foundation's classes are under tag 27 too, so that a mutable object comes back mutable.
///
/// What is referred to more than once is under tag 28 where it is, and tag 29 around its number elsewhere; numbers
/// count the tags 28 from the start, from 0. Only the reference to a conditional object may be ahead of the object.
///
/// The same objects give the same bytes: heads are the shortest, lengths definite, dictionaries and sets are sorted by the
/// encoded bytes of their keys and elements (the first 4 KiB, where those are objects or collections).
enum ObjectGraph {
  /// How deep objects and collections may nest, in the archive and while it is read, if the stack of the thread holds
  /// so many: each level is a call of `encode(with:)` or `init(coder:)`.
  static let maximumDepth = 512

  /// Immutable strings and data shorter than this are written as often as they are met.
  static let leastSharedLength = 64
}

extension CBORTag {
  /// An array of the name of a type and what an object of it is made from (registered by Marc Lehmann).
  static let object: UInt64 = 27
  /// A value that is referred to elsewhere.
  static let shared: UInt64 = 28
  /// The number of a shared value.
  static let reference: UInt64 = 29
  /// An array that is a set.
  static let set: UInt64 = 258
}
