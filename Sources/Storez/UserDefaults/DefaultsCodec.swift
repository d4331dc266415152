import Foundation
import FoundationArchives

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
