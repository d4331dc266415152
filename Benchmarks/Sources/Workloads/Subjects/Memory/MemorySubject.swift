/// What holds values in memory under keys.
///
/// The loops over it are generic and specialized for each conformer, so that nothing stands between them.
protocol MemorySubject: Sendable {
  associatedtype Key: Sendable = String

  static var name: String { get }

  /// Whether there is never more in it than its capacity.
  static var knowsLimits: Bool { get }

  /// - Parameter capacity: the most entries to hold; nil: any number.
  init(capacity: Int?, _ setting: Setting) throws

  /// The key as the subject takes it; not timed.
  static func key(_ text: String) -> Key

  func number(forKey key: Key) throws -> Int?

  /// The sum of the numbers under keys that are all there.
  func sum(forKeys keys: [Key]) throws -> Int

  mutating func set(_ value: Payload, forKey key: Key) throws

  /// Gives up what the subject has outside memory.
  func finish() throws
}

extension MemorySubject where Key == String {
  // Without the original's spare capacity, and not the original's memory.
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

/// The value: an object, as a cache of anything holds.
final class Payload: Sendable {
  let number: Int

  required init(_ number: Int) { self.number = number }
}
