/// A cache of numbers.
protocol TraceSubject: AnyObject {
  static var name: String { get }
  /// Whether the key's own value is there; counts as an access.
  func contains(_ key: UInt32) -> Bool
  func insert(_ key: UInt32)
}
