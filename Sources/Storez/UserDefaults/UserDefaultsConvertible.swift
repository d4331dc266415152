public import Foundation

/// A type that is kept in user defaults as an object of another type.
///
/// ```swift
/// extension Words: UserDefaultsConvertible {
///   static func decode(userDefaultsValue value: NSString) -> Words? { … }
///   var encodeForUserDefaults: NSString? { … }
/// }
/// ```
///
/// `decode(value:)` and `encode` are an older spelling of the two: implement one pair. Call the newer one, which is
/// always there. An optional of such a type is one.
public protocol UserDefaultsConvertible {
  /// What the two functions say; need not be named.
  associatedtype UserDefaultsType: UserDefaultsSupportedType

  /// The value, or `nil` if the object is of none. It is kept then, and reported.
  static func decode(userDefaultsValue value: UserDefaultsType) -> Self?
  /// The object to store, or `nil` if it cannot be. What was stored stays then, and it is reported.
  var encodeForUserDefaults: UserDefaultsType? { get }

  static func decode(value: UserDefaultsType) -> Self?
  var encode: UserDefaultsType? { get }
}

extension UserDefaultsConvertible {
  public static func decode(userDefaultsValue value: UserDefaultsType) -> Self? { decode(value: value) }
  public var encodeForUserDefaults: UserDefaultsType? { encode }

  // Not the other way round as well: a type that implements neither pair would call itself for ever.
  public static func decode(value: UserDefaultsType) -> Self? { nil }
  public var encode: UserDefaultsType? { nil }
}

extension Optional: UserDefaultsConvertible where Wrapped: UserDefaultsConvertible {
  public static func decode(userDefaultsValue value: Wrapped.UserDefaultsType) -> Wrapped?? {
    Wrapped.decode(userDefaultsValue: value).map(Optional.some)
  }

  public var encodeForUserDefaults: Wrapped.UserDefaultsType? { self?.encodeForUserDefaults }
}
