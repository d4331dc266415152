/// A key with the identity of its UTF-8 bytes, as in LMDB and the Secret Service; `==` of strings uses canonical
/// equivalence.
package struct KeyBytes: Hashable, Sendable {
  package let key: String

  package init(_ key: String) { self.key = key }

  package static func == (lhs: KeyBytes, rhs: KeyBytes) -> Bool { lhs.key.utf8.elementsEqual(rhs.key.utf8) }

  package func hash(into hasher: inout Hasher) {
    var key = key
    key.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
