import Foundation

/// Where in an object something is, as messages put it: `.siblings[2].name`.
enum CodingPath {
  static func text(of path: [any CodingKey]) -> String {
    path.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
  }
}

/// An element's place in an array.
struct IndexKey: CodingKey {
  var intValue: Int?
  var stringValue: String { String(intValue ?? 0) }

  init(_ index: Int) { intValue = index }
  init?(intValue: Int) { self.intValue = intValue }
  init?(stringValue: String) { nil }
}

/// A member's name; "super" for the part that belongs to a superclass.
struct NameKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }

  static let superclass = NameKey("super")

  init(_ name: String) { stringValue = name }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
