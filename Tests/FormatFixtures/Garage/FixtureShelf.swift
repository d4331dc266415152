/// A value without an identifier, identified by its content.
package struct FixtureShelf: Codable, Hashable, Sendable {
  package var words: [String]
  package var width: Int?
}
