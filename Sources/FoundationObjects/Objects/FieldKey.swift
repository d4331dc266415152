/// The keys of one field of an object of Foundation's, which archives of the two kinds spell differently.
package struct FieldKey: Hashable, Sendable {
  /// In the CBOR of this package.
  package let own: String
  /// In what `NSKeyedArchiver` writes.
  package let foundation: String

  package init(_ own: String, _ foundation: String) {
    self.own = own
    self.foundation = foundation
  }
}
