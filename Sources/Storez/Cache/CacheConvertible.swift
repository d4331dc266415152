/// A type that a ``CacheStore`` keeps as an object of another type. Types without a conversion are kept as they are.
public protocol CacheConvertible {
  associatedtype CacheType: CacheSupportedType

  /// The value, or `nil` if the object is of none. It is kept then, and reported.
  static func decode(cacheValue value: CacheType) -> Self?
  /// The object to keep, or `nil` if there is none. What was kept stays then, and it is reported.
  var encodeForCache: CacheType? { get }
}
