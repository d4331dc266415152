package import Foundation

/// A type that is read from what a property list gives.
package protocol PropertyListReadable {
  static func read(_ object: Any) -> Self?
}

extension PropertyListReadable where Self: FixedWidthInteger {
  package static func read(_ object: Any) -> Self? {
    // A truth value is no number, though an NSNumber is either.
    if object is Bool, !(object is Self) { return nil }
    if let integer = object as? any BinaryInteger { return Self(exactly: integer) }
    if let number = object as? Double { return Self(exactly: number) }
    return nil
  }
}

extension PropertyListReadable where Self: BinaryFloatingPoint {
  package static func read(_ object: Any) -> Self? {
    if object is Bool, !(object is Self) { return nil }
    if let number = object as? Double {
      // Not exactly: Float.nan came from Double.nan, which is not equal to itself.
      let value = Self(number)
      return Double(value) == number || number.isNaN ? value : nil
    }
    if let integer = object as? any BinaryInteger { return Self(exactly: integer) }
    return nil
  }
}

extension Int: PropertyListReadable {}
extension Int8: PropertyListReadable {}
extension Int16: PropertyListReadable {}
extension Int32: PropertyListReadable {}
extension Int64: PropertyListReadable {}
extension UInt: PropertyListReadable {}
extension UInt8: PropertyListReadable {}
extension UInt16: PropertyListReadable {}
extension UInt32: PropertyListReadable {}
extension UInt64: PropertyListReadable {}
extension Float: PropertyListReadable {}
extension Double: PropertyListReadable {}
extension CGFloat: PropertyListReadable {}

extension Bool: PropertyListReadable {
  package static func read(_ object: Any) -> Bool? {
    if let value = object as? Bool { return value }
    guard let integer = Int.read(object), integer == 0 || integer == 1 else { return nil }
    return integer == 1
  }
}

extension Date: PropertyListReadable {
  package static func read(_ object: Any) -> Date? {
    if let date = object as? Date { return date }
    return Double.read(object).map(Date.init(timeIntervalSinceReferenceDate:))
  }
}

extension Array: PropertyListReadable {
  package static func read(_ object: Any) -> [Element]? {
    guard let objects = object as? [Any] else { return nil }
    var elements: [Element] = []
    elements.reserveCapacity(objects.count)
    for object in objects {
      guard let element = PropertyListValue.read(Element.self, from: object) else { return nil }
      elements.append(element)
    }
    return elements
  }
}

extension Dictionary: PropertyListReadable {
  package static func read(_ object: Any) -> [Key: Value]? {
    guard let objects = object as? [AnyHashable: Any] else { return nil }
    var values: [Key: Value] = [:]
    for (key, object) in objects {
      guard let key = key.base as? Key, let value = PropertyListValue.read(Value.self, from: object) else { return nil }
      values[key] = value
    }
    return values
  }
}

extension Optional: PropertyListReadable {
  package static func read(_ object: Any) -> Wrapped?? {
    PropertyListValue.read(Wrapped.self, from: object).map(Optional.some)
  }
}
