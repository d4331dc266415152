/// A type that an ``LMDBStore`` keeps as a value of another type.
///
/// ```swift
/// extension Words: LMDBConvertible {
///   static func decode(lmdbValue value: String) -> Words? { … }
///   var encodeForLMDB: String? { … }
/// }
/// ```
public protocol LMDBConvertible {
  associatedtype LMDBType: Codable

  /// The value; nil: what is stored is of none. It is kept then, and reported.
  static func decode(lmdbValue value: LMDBType) -> Self?
  /// What to store; nil: it cannot be. What was stored stays then, and it is reported.
  var encodeForLMDB: LMDBType? { get }
}
