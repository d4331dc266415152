/// A value whose end uses the cache that it was in.
final class ActingValue: Codable, Sendable {
  let number: Int

  init(_ number: Int) { self.number = number }

  deinit { Stage.shared.act() }
}
