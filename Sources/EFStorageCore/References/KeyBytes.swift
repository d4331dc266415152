/// A key that is equal to another if their UTF-8 bytes are, as they are for LMDB and the Secret Service. `==` of strings
/// takes "é" as one character and as two for the same.
package struct KeyBytes: Hashable, Sendable {
  package let key: String

  package init(_ key: String) { self.key = key }

  package static func == (lhs: KeyBytes, rhs: KeyBytes) -> Bool { lhs.key.utf8.elementsEqual(rhs.key.utf8) }

  package func hash(into hasher: inout Hasher) {
    var key = key
    key.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
