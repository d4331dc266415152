/// A key whose identity is its UTF-8: `String` itself takes canonically equivalent strings for equal.
struct ByteKey: Hashable, Sendable {
  let string: String

  init(_ string: String) { self.string = string }

  static func == (first: ByteKey, second: ByteKey) -> Bool { KeyIdentity.same(first.string, second.string) }

  func hash(into hasher: inout Hasher) { hasher.combine(KeyIdentity.hash(string, seed: KeyIdentity.seed)) }
}
