/// Values as property lists hold them.
///
/// What Foundation's user defaults take, and give back from the file, differs between systems. On Linux they are an XML
/// property list: every integer comes back as `Int`, `Int64` or `UInt64`, every floating-point number as `Double`, arrays
/// and dictionaries hold optionals, a date has no fraction of a second, -0.0 no sign, and a text no U+FEFF at its start; an
/// object of a class that is not supported ends the process. So everything goes through here.
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

  /// The entries of a dictionary, also of one that is stored as an array since Foundation on Linux would change a key.
  package static func entries(of object: Any) -> [(String, Any)]? {
    if let objects = object as? [String: Any] { return objects.map { ($0, $1) } }
    guard let objects = object as? [Any], objects.count.isMultiple(of: 2) else { return nil }
    var entries: [(String, Any)] = []
    for index in stride(from: 0, to: objects.count, by: 2) {
      guard let key = read(String.self, from: objects[index]) else { return nil }
      entries.append((key, objects[index + 1]))
    }
    // Any other array is no dictionary.
    return entries.contains { beginsWithMark($0.0.utf8) } ? entries : nil
  }

  /// Whether Foundation on Linux drops the first character when it reads such a text from the file: U+FEFF. The text is
  /// stored as data.
  package static func beginsWithMark(_ text: some Sequence<UInt8>) -> Bool { text.starts(with: [0xef, 0xbb, 0xbf]) }

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
