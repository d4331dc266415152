import GarageStorage

/// An object that is parked encrypted.
package struct FixtureSecret: Mappable, Equatable, Sendable {
  package var id: String
  package var text: String
}
