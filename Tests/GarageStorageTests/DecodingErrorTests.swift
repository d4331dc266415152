import Foundation
import Testing

@testable import GarageStorage

/// Undecodable content throws a `DecodingError` that includes the garage's details.
@Suite struct DecodingErrorTests {
  struct Owner: Codable, Identifiable {
    var id: String
    var pet: Pet
  }

  @Test(arguments: Kind.allCases)
  func aMissingReferenceIsCorruptedData(kind: Kind) throws {
    try kind.with { garage in
      try garage.park(Owner(id: "Sam", pet: Pet(7)))
      try garage.delete(Pet(7))
      do {
        _ = try garage.retrieve(Owner.self, identifier: "Sam")
        Issue.record("nothing was thrown")
      } catch DecodingError.dataCorrupted(let context) {
        #expect(context.codingPath.map(\.stringValue) == ["pet"])
        #expect(context.debugDescription.contains("Pet") && context.debugDescription.contains("7"))
        #expect((context.underlyingError as? GarageError)?.code == .missingReference)
      }
      do {
        _ = try garage.retrieveAll(Owner.self)
        Issue.record("nothing was thrown")
      } catch GarageError.Code.missingReference {
        // Matches by its code, whatever its type.
      }
    }
  }

  @Test func theKindOfAFailedDecodingIsKept() throws {
    let garage = Garage(with: [.inMemory])
    func error(of json: String) throws -> DecodingError {
      try garage.put(json, type: Pet.self, "1")
      return try #require(#expect(throws: DecodingError.self) { try garage.retrieve(Pet.self, identifier: 1) })
    }
    guard case .typeMismatch(let type, let context) = try error(of: #"{"number":"x","name":""}"#) else {
      Issue.record("no mismatch")
      return
    }
    #expect(type == Int.self && context.codingPath.map(\.stringValue) == ["number"])
    let known = try #require(GarageError(error(of: #"{"number":"x","name":""}"#)))
    #expect(known.code == .undecodable && known.message.contains(#"Pet "1""#) && known.underlying is DecodingError)
    guard case .keyNotFound(let key, _) = try error(of: #"{"number":1}"#) else {
      Issue.record("no missing key")
      return
    }
    #expect(key.stringValue == "name")
    guard case .valueNotFound = try error(of: #"{"number":1,"name":null}"#) else {
      Issue.record("no missing value")
      return
    }
    guard case .dataCorrupted = try error(of: #"{"number":1e99,"name":""}"#) else {
      Issue.record("not corrupted")
      return
    }
  }

  @Test func patternsAreThoseOfTheCodes() throws {
    let garage = Garage(with: [.inMemory])
    do {
      try garage.delete(Pet(1))
      Issue.record("nothing was thrown")
    } catch GarageError.missingConformance {
      Issue.record("another error")
    } catch GarageError.failedToRetrieveObject {
      // The original's pattern.
    }
    #expect(GarageError(CocoaError(.fileNoSuchFile)) == nil)
    let ofSomebodyElse = DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: ""))
    #expect(GarageError(ofSomebodyElse) == nil)
    #expect(!(GarageError.Code.undecodable ~= ofSomebodyElse))
  }

  // MARK: - Identifiers

  @Test func identifiersOfAnyTypeAreAskedFor() throws {
    enum Colour: String, Codable { case red }
    let garage = Garage(with: [.inMemory])
    let ticket = Ticket(id: UUID(), title: "t")
    try garage.park(ticket)
    try garage.park(Pet(5))
    try garage.park(Person("5"))
    func retrieve<ID>(_ identifier: ID) throws -> String? {
      let person = try garage.retrieve(Person.self, identifier: identifier)
      return person?.name
    }
    #expect(try garage.retrieve(Ticket.self, identifier: ticket.id) == ticket)
    #expect(try garage.retrieve(Ticket.self, identifier: ticket.id.uuidString) == ticket)
    #expect(try garage.retrieve(Pet.self, identifier: 5)?.number == 5)
    #expect(try retrieve("5") == "5" && retrieve(5) == "5" && retrieve(Substring("5")) == "5")
    let some: String? = "5"
    #expect(try retrieve(some) == "5")
    let none: String? = nil
    for body in [{ try retrieve(Colour.red) }, { try retrieve(none) }, { try retrieve([1]) }, { try retrieve(()) }] {
      #expect(failure(of: body)?.code == .unsupportedIDConformance)
    }
  }
}
