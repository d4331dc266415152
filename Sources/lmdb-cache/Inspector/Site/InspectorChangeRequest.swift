import ArgumentParser
import Foundation

/// The page's request for a change, and its confirmation.
struct InspectorChangeRequest {
  let change: InspectorChange
  /// The code from the answer to the unconfirmed request.
  let confirmation: String?

  private struct Removal: Decodable {
    let key: String
    let confirmation: String?
  }

  private struct Trim: Decodable {
    let count, cost: Int?
    let age: Double?
    let confirmation: String?
  }

  init(removal body: Data) throws(HTTPRefusal) {
    let removal: Removal = try Self.decoded(body)
    change = .removal(key: removal.key)
    confirmation = removal.confirmation
  }

  init(trim body: Data) throws(HTTPRefusal) {
    let trim: Trim = try Self.decoded(body)
    let limits = TrimLimits(count: trim.count, cost: trim.cost, age: trim.age)
    do {
      try limits.validate()
    } catch {
      throw HTTPRefusal(400, (error as? ValidationError)?.message ?? "\(error)")
    }
    change = .trim(limits)
    confirmation = trim.confirmation
  }

  private static func decoded<Body: Decodable>(_ body: Data) throws(HTTPRefusal) -> Body {
    do {
      return try JSONDecoder().decode(Body.self, from: body)
    } catch {
      throw HTTPRefusal(400, "The body of the request is not what it should be.")
    }
  }
}
