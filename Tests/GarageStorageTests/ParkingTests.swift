import Foundation
import Testing

@testable import GarageStorage

@Suite struct ParkingTests {
  let garage = Garage(with: [.inMemory])

  @Test(arguments: Kind.allCases)
  func anObjectComesBack(kind: Kind) throws {
    try kind.with { garage in
      let sam = makeSam()
      try garage.park(sam)
      let found = try #require(try garage.retrieve(Person.self, identifier: "Sam"))
      #expect(found !== sam && found.age == 31 && found.address == sam.address)
      #expect(found.birthdate == sam.birthdate && found.importantDates == sam.importantDates)
      #expect(found.brother?.name == "Nick" && found.siblings.map(\.name) == ["Nick", "Emily"])
      #expect(try garage.retrieve(Person.self, identifier: "Nobody") == nil)
      #expect(try garage.retrieve(Friend.self, identifier: "Sam") == nil)

      // Objects with an identifier are parked once, and others are part of their owner.
      #expect(try garage.retrieveAll(Person.self).map(\.name) == ["Emily", "Nick", "Sam"])
      #expect(try garage.retrieveAll(Address.self).isEmpty)
      let json = try #require(try garage.content(Person.self, "Sam"))
      #expect(json.contains(#""brother":{"gs_identifier":"Nick","gs_type":"GarageStorageTests.Person"}"#))
      #expect(json.contains(#""address":{"city":"Boston""#))
      try garage.park(Person("Nick", age: 99))
      let changed = try #require(try garage.retrieve(Person.self, identifier: "Sam"))
      #expect(changed.brother?.age == 99 && changed.siblings[0] === changed.brother)
      #expect(changed.brother !== found.brother)
    }
  }

  @Test(arguments: Kind.allCases)
  func parkingAllIsOneTransaction(kind: Kind) throws {
    struct Fickle: Codable, Identifiable {
      struct Refusal: Error {}
      var id: Int
      func encode(to encoder: any Encoder) throws {
        guard id != 3 else { throw Refusal() }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
      }
    }
    try kind.with { garage in
      #expect(throws: Fickle.Refusal.self) { try garage.parkAll((1...4).map { Fickle(id: $0) }) }
      #expect(try garage.retrieveAll(Fickle.self).isEmpty)
      try garage.parkAll([1, 2].map { Fickle(id: $0) })
      #expect(try garage.retrieveAll(Fickle.self).map(\.id) == [1, 2])
    }
  }

  // MARK: - Identifiers

  static let identifiers = [
    "", "a", "é", "e\u{301}", "\0", "👩‍👩‍👧", String(repeating: "x", count: 380), String(repeating: "x", count: 381),
    String(repeating: "ü", count: 5_000),
  ]

  @Test(arguments: Kind.allCases)
  func identifiersOfAnyLengthAndContentAreTheirBytes(kind: Kind) throws {
    try kind.with { garage in
      for (index, identifier) in Self.identifiers.enumerated() { try garage.park(Person(identifier, age: index)) }
      for (index, identifier) in Self.identifiers.enumerated() {
        #expect(try garage.retrieve(Person.self, identifier: identifier)?.age == index)
      }
      #expect(try garage.retrieveAll(Person.self).count == Self.identifiers.count)
      for identifier in Self.identifiers { try garage.delete(Person(identifier)) }
      #expect(try garage.retrieveAll(Person.self).isEmpty)
    }
  }

  struct Ticket: Codable, Identifiable, Equatable {
    var id: UUID
    var title: String
  }

  @Test func identifiersOfAnyTypeAreAskedFor() throws {
    enum Color: String, Codable { case red }
    struct Place: Codable, Identifiable { var id: String }
    let ticket = Ticket(id: UUID(), title: "t")
    try garage.park(ticket)
    try garage.park(Place(id: "5"))
    func retrieve<ID>(_ identifier: ID) throws -> String? {
      let place = try garage.retrieve(Place.self, identifier: identifier)
      return place?.id
    }
    #expect(try garage.retrieve(Ticket.self, identifier: ticket.id) == ticket)
    #expect(try garage.retrieve(Ticket.self, identifier: ticket.id.uuidString) == ticket)
    #expect(try retrieve("5") == "5" && retrieve(5) == "5" && retrieve(Substring("5")) == "5")
    #expect(try retrieve(String?.some("5")) == "5")
    for body in [
      { try retrieve(Color.red) }, { try retrieve(String?.none) }, { try retrieve([1]) }, { try retrieve(()) },
    ] {
      #expect(failure(of: body)?.code == .unsupportedIDConformance)
    }
  }

  @Test func whatCannotBeARootIsAnError() throws {
    struct Plain: Codable {}
    struct Key: Codable, Hashable { var text = "" }
    struct Odd: Codable, Identifiable { var id = Key() }
    #expect(throws: GarageError.missingConformance("Plain")) { try garage.park(Plain()) }
    #expect(throws: GarageError.unsupportedIDConformance("Key")) { try garage.park(Odd()) }
  }

  @Test func typesOfOneNameAreToldApartAndAnIdentifierThatCannotBeStoredIsInline() throws {
    enum Other { struct Cone: Codable, Identifiable { var id: String } }
    enum Flavor: String, Codable, Identifiable {
      case vanilla
      var id: Self { self }
    }
    struct Cone: Codable, Identifiable {
      var id: String
      var flavor: Flavor
    }
    try garage.park(Cone(id: "a", flavor: .vanilla))
    #expect(try garage.content(Cone.self, "a") == #"{"flavor":"vanilla","id":"a"}"#)
    #expect(try garage.retrieve(Cone.self, identifier: "a")?.flavor == .vanilla)
    #expect(try garage.retrieve(Other.Cone.self, identifier: "a") == nil)
  }

  // MARK: - Types

  class Student: Person {
    var school = ""

    private enum CodingKeys: CodingKey { case school }

    override init() { super.init() }

    required init(from decoder: any Decoder) throws {
      school = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .school)
      try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(school, forKey: .school)
    }
  }

  @Test func aSubclassIsParkedAndRetrievedAsItself() throws {
    let (sam, nick) = (Person("Sam"), Student())
    (nick.name, nick.school) = ("Nick", "MIT")
    sam.brother = nick
    try garage.park(sam)
    #expect((try garage.retrieve(Person.self, identifier: "Sam")?.brother as? Student)?.school == "MIT")
    #expect(try garage.retrieve(Student.self, identifier: "Nick")?.name == "Nick")
    #expect(try garage.retrieve(Person.self, identifier: "Nick") == nil)
  }

  // MARK: - References to deleted objects

  struct Box<Value: Codable>: Codable, Identifiable {
    var id = "box"
    var value: Value
  }

  @Test(arguments: Kind.allCases)
  func anOptionalOfADeletedObjectIsNil(kind: Kind) throws {
    try kind.with { garage in
      func check<Value: Codable>(_ value: Value, _ isRight: (Value) -> Bool) throws {
        try garage.parkAll([Pet(1), Pet(2)])
        try garage.park(Box(value: value))
        try garage.delete(Pet(1))
        let box = try #require(try garage.retrieve(Box<Value>.self, identifier: "box"))
        #expect(isRight(box.value))
      }
      try check(Optional(Pet(1))) { $0 == nil }
      try check(Optional(Optional(Pet(1)))) { $0 == nil || $0! == nil }
      try check([Optional(Pet(1)), Pet(2), nil]) { $0.map { $0?.number } == [nil, 2, nil] }
      try check(["a": Optional(Pet(1)), "b": Pet(2)]) { $0["a"]! == nil && $0["b"]!?.number == 2 }
      try check(Optional(Person("Sam"))) { $0?.name == "Sam" }
      try check(Migratable(wrappedValue: Pet(1))) { $0.wrappedValue == nil }

      try garage.park(Box(value: [Pet(1)]))
      try garage.delete(Pet(1))
      let error = failure { try garage.retrieve(Box<[Pet]>.self, identifier: "box") }
      #expect(error?.code == .missingReference && error?.message.contains(#".value[0] points to Pet "1""#) == true)
      try garage.park(Pet(1))
      #expect(try garage.retrieve(Box<[Pet]>.self, identifier: "box")?.value.count == 1)
    }
  }
}
