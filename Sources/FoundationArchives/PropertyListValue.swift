package import Foundation
import FoundationObjects

/// Conversions of values for property lists.
///
/// Systems differ in what Foundation's user defaults accept and return from the file. On Linux the file is an XML
/// property list: integers come back as `Int`, `Int64` or `UInt64` and all floating-point numbers as `Double`,
/// collections hold optionals, dates lose fractions of a second, -0.0 its sign and text an initial U+FEFF; an
/// unsupported class ends the process. So all values go through here.
package enum PropertyListValue {
  /// Converts an object, or returns nil if it is not a `Value`.
  package static func read<Value>(_ type: Value.Type, from object: Any) -> Value? {
    guard let object = unwrapped(object) else { return nil }
    if let type = type as? any PropertyListReadable.Type {
      // Casting nil to an optional would succeed.
      guard let value = type.read(object) else { return nil }
      return value as? Value
    }
    return object as? Value
  }

  /// A dictionary's entries, even if it is stored as an array because Foundation on Linux would change a key.
  package static func entries(of object: Any) -> [(String, Any)]? {
    if let objects = object as? [String: Any] { return objects.map { ($0, $1) } }
    guard let objects = object as? [Any], objects.count.isMultiple(of: 2) else { return nil }
    var entries: [(String, Any)] = []
    for index in stride(from: 0, to: objects.count, by: 2) {
      guard let key = read(String.self, from: objects[index]) else { return nil }
      entries.append((key, objects[index + 1]))
    }
    // Other arrays are not dictionaries.
    return entries.contains { beginsWithMark($0.0.utf8) } ? entries : nil
  }

  /// Whether text begins with U+FEFF, which Foundation on Linux drops when reading the file. Such text is stored as
  /// data.
  package static func beginsWithMark(_ text: some Sequence<UInt8>) -> Bool { text.starts(with: [0xef, 0xbb, 0xbf]) }

  /// Whether the value is a nested optional with an inner `nil`, which could not be stored distinctly from the outer
  /// one.
  package static func isInnerNil(_ value: Any) -> Bool {
    guard let optional = value as? any OptionalValue, let wrapped = optional.wrappedAny else { return false }
    return unwrapped(wrapped) == nil
  }

  package static func unwrapped(_ value: Any) -> Any? {
    var value = value
    while let optional = value as? any OptionalValue {
      guard let wrapped = optional.wrappedAny else { return nil }
      value = wrapped
    }
    return value
  }
}

private protocol OptionalValue {
  var wrappedAny: Any? { get }
}

extension Optional: OptionalValue {
  var wrappedAny: Any? { self }
}

/// A type that is read from property list objects: from every object that Foundation's `integer(forKey:)` and similar
/// functions convert to it, including launch arguments. Integers must convert exactly; a `Float` is the nearest one to a
/// `Double`.
package protocol PropertyListReadable {
  static func read(_ object: Any) -> Self?
}

extension PropertyListReadable where Self: FixedWidthInteger {
  package static func read(_ object: Any) -> Self? {
    switch object {
    case let value as Self: value
    case let integer as any BinaryInteger: Self(exactly: integer)
    case let truth as Bool: truth ? 1 : 0
    case let text as String: Self(text) ?? number(text).flatMap { Self(exactly: $0) }
    case let number as Double: Self(exactly: number)
    default: (object as? any BinaryFloatingPoint).flatMap { Self(exactly: $0) }
    }
  }
}

extension PropertyListReadable where Self: BinaryFloatingPoint {
  package static func read(_ object: Any) -> Self? {
    switch object {
    case let value as Self: value
    case let integer as any BinaryInteger: Self(exactly: integer)
    case let truth as Bool: truth ? 1 : 0
    case let text as String: number(text).flatMap { rounded($0) }
    case let number as Double: rounded(number)
    default: (object as? any BinaryFloatingPoint).flatMap { rounded($0) }
    }
  }

  /// The nearest value; nil if it overflows.
  private static func rounded(_ number: some BinaryFloatingPoint) -> Self? {
    let value = Self(number)
    return value.isFinite || !number.isFinite ? value : nil
  }
}

extension PropertyListReadable {
  fileprivate static func number(_ text: String) -> Double? {
    // Foundation reads no hexadecimal digits.
    text.utf8.contains { $0 | 0x20 == UInt8(ascii: "x") } ? nil : Double(text)
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
    if let number = Double.read(object) { return number != 0 }
    switch (object as? String)?.lowercased() {
    case "yes", "y", "true", "t": return true
    case "no", "n", "false", "f": return false
    default: return nil
    }
  }
}

extension String: PropertyListReadable {
  package static func read(_ object: Any) -> String? {
    if let text = object as? String { return text }
    guard let data = object as? Data, PropertyListValue.beginsWithMark(data) else { return nil }
    return String(validating: data, as: UTF8.self)
  }
}

extension Date: PropertyListReadable {
  package static func read(_ object: Any) -> Date? {
    if let date = object as? Date { return date }
    if object is Bool || object is String { return nil }
    return Double.read(object).map(Date.init(timeIntervalSinceReferenceDate:))
  }
}

extension URL: PropertyListReadable {
  package static func read(_ object: Any) -> URL? {
    switch object {
    case let url as URL: return url
    case let data as Data:
      do { return try KeyedArchive.object(NSURL.self, from: data).swiftValue } catch { return nil }
    case let text as String:
      if let url = URL(string: text), url.scheme != nil { return url }
      // Like Foundation.
      return text.isEmpty ? nil : URL(fileURLWithPath: NSString(string: text).expandingTildeInPath)
    default: return nil
    }
  }
}

extension UUID: PropertyListReadable {
  package static func read(_ object: Any) -> UUID? { (object as? String).flatMap(UUID.init(uuidString:)) }
}

extension Decimal: PropertyListReadable {
  package static func read(_ object: Any) -> Decimal? {
    if let value = object as? Decimal { return value }
    let text = object as? String ?? (object is Bool ? nil : "\(object)")
    // `Decimal(string:)` accepts text with trailing characters.
    guard let text, number(text)?.isFinite == true else { return nil }
    return Decimal(string: text)
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
    guard let entries = PropertyListValue.entries(of: object) else { return nil }
    var values: [Key: Value] = [:]
    for (key, object) in entries {
      guard let key = key as? Key, let value = PropertyListValue.read(Value.self, from: object) else { return nil }
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
