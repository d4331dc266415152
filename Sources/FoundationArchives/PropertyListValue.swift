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
