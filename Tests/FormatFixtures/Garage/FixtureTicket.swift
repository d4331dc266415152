package import Foundation

/// A value with an identifier that is a UUID.
package struct FixtureTicket: Codable, Identifiable, Equatable, Sendable {
  package var id: UUID
  package var title: String
  package var price: Double
}
