public import Foundation
import FoundationArchives

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

/// What user defaults hold in an archive: any class that conforms to `NSCoding`.
public typealias UserDefaultsSupportedType = NSCoding

/// An archive by `NSKeyedArchiver`.
enum CodingDefaults<Value: NSCoding>: ObjectCodec {
  static func object(for value: Value) throws -> Any? { try KeyedArchive.data(of: value, as: Value.self) }

  static func value(of object: Any) throws -> Value {
    if let data = object as? Data, !(Value.self is NSData.Type) || KeyedDefaults.isArchive(data) {
      do {
        return try KeyedArchive.object(Value.self, from: data)
      } catch {
        // Data that others wrote as it is may be an archive of something else.
        guard Value.self is NSData.Type else { throw error }
      }
    }
    // What others wrote, as it is.
    if let value = object as? Value ?? FoundationObject.bridging(object) as? Value { return value }
    throw ConversionError.notDecoded(Value.self, object)
  }
}

/// An archive of the object that the value is converted to.
enum ConvertibleDefaults<Value: UserDefaultsConvertible>: ObjectCodec {
  static func object(for value: Value) throws -> Any? {
    if PropertyListValue.isInnerNil(value) { throw ConversionError.innerNil(Value.self) }
    if PropertyListValue.unwrapped(value) == nil { return nil }
    guard let object = value.encodeForUserDefaults else {
      throw ConversionError.notEncoded(Value.self, "encodeForUserDefaults")
    }
    return try CodingDefaults.object(for: object)
  }

  static func value(of object: Any) throws -> Value {
    let object = try CodingDefaults<Value.UserDefaultsType>.value(of: object)
    guard let value = Value.decode(userDefaultsValue: object) else {
      throw ConversionError.notDecoded(Value.self, object)
    }
    return value
  }
}

/// JSON: an array of the one value, in a `Data`. So data that others wrote as it is and that reads as such JSON, or as
/// an archive, is taken for that.
enum CodableDefaults<Value: Codable>: ObjectCodec {
  static func object(for value: Value) throws -> Any? {
    if PropertyListValue.isInnerNil(value) { throw ConversionError.innerNil(Value.self) }
    if PropertyListValue.unwrapped(value) == nil { return nil }
    return try JSON.data(of: [value])
  }

  static func value(of object: Any) throws -> Value {
    guard let data = object as? Data else {
      // What others wrote, or registered, as it is.
      if let value = PropertyListValue.read(Value.self, from: object) { return value }
      throw ConversionError.notDecoded(Value.self, object)
    }
    do {
      return try stored(data)
    } catch {
      if let value = PropertyListValue.read(Value.self, from: data) { return value }
      throw error
    }
  }

  private static func stored(_ data: Data) throws -> Value {
    if KeyedDefaults.isArchive(data), let value = try KeyedDefaults.value(Value.self, from: data) { return value }
    guard let value = try JSON.value([Value].self, from: data).first else {
      throw ConversionError.notDecoded(Value.self, data)
    }
    return value
  }
}

/// Archives of Foundation's objects, read as the Swift types that took their place.
enum KeyedDefaults {
  /// No JSON starts like that.
  static func isArchive(_ data: Data) -> Bool { data.starts(with: "bplist".utf8) }

  /// `nil` if values of the type were never stored as objects. A number of which the type has no exact value is none of
  /// it, as where it is stored as it is.
  static func value<Value>(_ type: Value.Type, from data: Data) throws -> Value? {
    let value: Any
    switch type {
    case is Int.Type, is Int?.Type, is Double.Type, is Double?.Type, is Float.Type, is Float?.Type, is Bool.Type,
      is Bool?.Type:
      let number = try KeyedArchive.object(NSNumber.self, from: data)
      guard let value = PropertyListValue.read(type, from: number) else {
        throw ConversionError("It is the number \(number), of which \(type) cannot be made.")
      }
      return value
    case is String.Type, is String?.Type: value = try String(describing: KeyedArchive.object(NSString.self, from: data))
    case is Date.Type, is Date?.Type:
      let date = try KeyedArchive.object(NSDate.self, from: data)
      value = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    default: return nil
    }
    return value as? Value
  }
}
