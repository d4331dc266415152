/// Values as property lists hold them.
///
/// What Foundation's user defaults take, and give back from the file, differs between systems. On Linux they are an XML
/// property list: every integer comes back as `Int`, `Int64` or `UInt64`, every floating-point number as `Double`, arrays
/// and dictionaries hold optionals, and a date has no fraction of a second; an object of a class that is not supported
/// ends the process. So everything goes through here.
package enum PropertyListValue {
  /// The value that an object is, or nil where it is no `Value`.
  package static func read<Value>(_ type: Value.Type, from object: Any) -> Value? {
    guard let object = unwrapped(object) else { return nil }
    if let type = type as? any PropertyListReadable.Type {
      // A cast of nil to an optional would be its nil.
      guard let value = type.read(object) else { return nil }
      return value as? Value
    }
    return object as? Value
  }

  /// Whether the value is an optional of an optional, and the inner one is `nil`: what is stored for it could not be told
  /// from the outer `nil`.
  package static func isInnerNil(_ value: Any) -> Bool {
    guard let optional = value as? any OptionalValue, let wrapped = optional.wrappedAny else { return false }
    return unwrapped(wrapped) == nil
  }

  /// Returns what is in an optional, to any depth.
  package static func unwrapped(_ value: Any) -> Any? {
    var value = value
    while let optional = value as? any OptionalValue {
      guard let wrapped = optional.wrappedAny else { return nil }
      value = wrapped
    }
    return value
  }
}

/// Any optional.
private protocol OptionalValue {
  var wrappedAny: Any? { get }
}

extension Optional: OptionalValue {
  var wrappedAny: Any? { self }
}
