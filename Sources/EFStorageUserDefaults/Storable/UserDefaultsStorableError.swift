/// A value that user defaults cannot hold, or do not hold.
public struct UserDefaultsStorableError: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }

  init(stored object: Any, _ type: Any.Type) {
    description = "What is stored is a \(Swift.type(of: object)), which is no \(type). Remove or replace it."
  }
}
