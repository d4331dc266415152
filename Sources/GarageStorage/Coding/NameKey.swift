/// A member's name; "super" for a superclass's part.
struct NameKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }

  static let superclass = NameKey("super")

  init(_ name: String) { stringValue = name }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
