/// A value that user defaults cannot hold, or do not hold.
public struct UserDefaultsStorableError: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }

  static func innerNil(_ type: Any.Type) -> Self {
    Self("A property list cannot tell the inner nil of a \(type) from the outer one. Store another type, or remove it.")
  }

  init(stored object: Any?, _ type: Any.Type) {
    let object = object.map { "a \(Swift.type(of: $0))" } ?? "something"
    description = "What is stored is \(object) that cannot be read as \(type). Remove or replace it."
  }
}
