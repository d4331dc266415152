/// A coding key outside the caller's types: an array index, or `super`.
struct CBORCodingKey: CodingKey {
  static let superclass = CBORCodingKey(stringValue: "super", intValue: nil)

  let stringValue: String
  let intValue: Int?

  init(stringValue: String) { self.init(stringValue: stringValue, intValue: nil) }

  init(intValue: Int) { self.init(stringValue: String(intValue), intValue: intValue) }

  init(index: Int) { self.init(stringValue: "Index \(index)", intValue: index) }

  private init(stringValue: String, intValue: Int?) {
    self.stringValue = stringValue
    self.intValue = intValue
  }
}
