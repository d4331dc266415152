package import Foundation

package struct FixtureTicket: Codable, Identifiable, Equatable, Sendable {
  package var id: UUID
  package var title: String
  package var price: Double
}
