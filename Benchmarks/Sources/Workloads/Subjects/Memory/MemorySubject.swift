/// A store of values in memory. Generic loops over it are specialized for each conformer, without overhead.
protocol MemorySubject: Sendable {
  associatedtype Key: Sendable = String

  static var name: String { get }

  /// Whether it never exceeds its capacity.
  static var knowsLimits: Bool { get }

  /// - Parameter capacity: The most entries to hold; nil for any number.
  init(capacity: Int?, _ setting: Setting) throws

  /// Converts a key; not timed.
  static func key(_ text: String) -> Key

  func number(forKey key: Key) throws -> Int?

  /// The sum of the numbers under existing keys.
  func sum(forKeys keys: [Key]) throws -> Int

  mutating func set(_ value: Payload, forKey key: Key) throws

  /// Releases resources outside memory.
  func finish() throws
}

extension MemorySubject where Key == String {
  // Makes a copy without spare capacity.
  static func key(_ text: String) -> String { String(decoding: Array(text.utf8), as: UTF8.self) }
}

extension MemorySubject {
  static var knowsLimits: Bool { true }

  func sum(forKeys keys: [Key]) throws -> Int {
    var sum = 0
    for key in keys { sum &+= try number(forKey: key) ?? .min }
    return sum
  }

  func finish() {}
}

/// A value that is an object, as in a cache of arbitrary values.
final class Payload: Sendable {
  let number: Int

  required init(_ number: Int) { self.number = number }
}
