/// A field's key in Foundation objects, spelled differently in the two kinds of archives.
package struct FieldKey: Hashable, Sendable {
  /// In this package's CBOR.
  package let own: String
  /// In `NSKeyedArchiver`'s archives.
  package let foundation: String

  package init(_ own: String, _ foundation: String) {
    self.own = own
    self.foundation = foundation
  }
}
