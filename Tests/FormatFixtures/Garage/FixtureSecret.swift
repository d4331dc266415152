import GarageStorage

package struct FixtureSecret: Mappable, Equatable, Sendable {
  package var id: String
  package var text: String
}
