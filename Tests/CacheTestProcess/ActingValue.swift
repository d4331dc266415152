/// A value that uses its cache when it is released.
final class ActingValue: Codable, Sendable {
  let number: Int

  init(_ number: Int) { self.number = number }

  deinit { Stage.shared.act() }
}
