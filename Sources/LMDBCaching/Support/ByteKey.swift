/// A key with the identity of its UTF-8; `String` compares by canonical equivalence.
package struct ByteKey: Hashable, Sendable {
  package let string: String

  package init(_ string: String) { self.string = string }

  package static func == (first: ByteKey, second: ByteKey) -> Bool { KeyIdentity.same(first.string, second.string) }

  package func hash(into hasher: inout Hasher) { hasher.combine(KeyIdentity.hash(string, seed: KeyIdentity.seed)) }
}
