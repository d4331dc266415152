import Foundation
@testable import GarageStorage
import Testing

@Suite struct ParkingTests {
  @Test(arguments: Kind.allCases)
  func anObjectComesBack(kind: Kind) throws {
    try kind.with { garage in
      let sam = makeSam()
      try garage.park(sam)
      let found = try #require(try garage.retrieve(Person.self, identifier: "Sam"))
      #expect(found !== sam)
      #expect(found.age == 31)
      #expect(found.address == sam.address)
      #expect(found.birthdate == sam.birthdate)
      #expect(found.importantDates == sam.importantDates)
      #expect(found.brother?.name == "Nick")
      #expect(found.siblings.map(\.name) == ["Nick", "Emily"])
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
        var container = encoder.singleValueContainer()
        try container.encode(id)
      }
      init(id: Int) { self.id = id }
      init(from decoder: any Decoder) throws { id = try decoder.singleValueContainer().decode(Int.self) }
    }
    try kind.with { garage in
      #expect(throws: Fickle.Refusal.self) { try garage.parkAll((1...4).map { Fickle(id: $0) }) }
      #expect(try garage.retrieveAll(Fickle.self).isEmpty)
      try garage.parkAll([1, 2].map { Fickle(id: $0) })
      #expect(try garage.retrieveAll(Fickle.self).map(\.id) == [1, 2])
    }
  }

  @Test func theLastOfSeveralRootsWithOneIdentifierCounts() throws {
    try Kind.inMemory.with { garage in
      let nick = Person("Nick", age: 1)
      let sam = Person("Sam")
      sam.brother = Person("Nick", age: 2)
      try garage.parkAll([nick, sam, Person("Nick", age: 3)])
      #expect(try garage.retrieve(Person.self, identifier: "Nick")?.age == 3)
    }
  }

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

  @Test func typesOfOneNameInTwoScopesAreTwoTypes() throws {
    enum One { struct Item: Codable, Identifiable { var id: String } }
    enum Two { struct Item: Codable, Identifiable { var id: String } }
    try Kind.inMemory.with { garage in
      try garage.park(One.Item(id: "a"))
      #expect(try garage.retrieve(Two.Item.self, identifier: "a") == nil)
      #expect(try garage.retrieve(One.Item.self, identifier: "a") != nil)
    }
  }

  @Test func whatCannotBeARootIsAnError() throws {
    struct Plain: Codable {}
    struct Key: Codable, Hashable { var text = "" }
    struct Odd: Codable, Identifiable { var id = Key() }
    try Kind.inMemory.with { garage in
      #expect(throws: GarageError.missingConformance("Plain")) { try garage.park(Plain()) }
      #expect(throws: GarageError.unsupportedIDConformance("Key")) { try garage.park(Odd()) }
    }
  }

  @Test func aNestedValueWhoseIdentifierCannotBeStoredIsInline() throws {
    enum Flavor: String, Codable, Identifiable {
      case vanilla
      var id: Self { self }
    }
    struct Cone: Codable, Identifiable {
      var id: String
      var flavor: Flavor
    }
    try Kind.inMemory.with { garage in
      try garage.park(Cone(id: "a", flavor: .vanilla))
      #expect(try garage.content(Cone.self, "a") == #"{"flavor":"vanilla","id":"a"}"#)
      #expect(try garage.retrieve(Cone.self, identifier: "a")?.flavor == .vanilla)
    }
  }

  @Test(arguments: Kind.allCases)
  func whatPointsToADeletedObjectSaysSo(kind: Kind) throws {
    try kind.with { garage in
      let sam = makeSam()
      sam.siblings = []
      try garage.park(sam)
      try garage.delete(Person("Nick"))
      #expect(try garage.retrieve(Person.self, identifier: "Sam")?.brother == nil)

      sam.brother = nil
      sam.siblings = [Person("Emily")]
      try garage.park(sam)
      try garage.delete(Person("Emily"))
      let missing = failure { try garage.retrieve(Person.self, identifier: "Sam") }
      #expect(missing == .missingReference("Person \"Emily\"", path: "Person \"Sam\".siblings[0]"))
      try garage.park(Person("Emily"))
      #expect(try garage.retrieve(Person.self, identifier: "Sam")?.siblings.count == 1)
    }
  }

  @Test func aSubclassIsParkedAndRetrievedAsItself() throws {
    class Student: Person {
      var school = ""

      convenience init(_ name: String, school: String) {
        self.init()
        self.name = name
        self.school = school
      }

      private enum CodingKeys: CodingKey { case school }

      required init(from decoder: any Decoder) throws {
        school = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .school)
        try super.init(from: decoder)
      }

      override init() { super.init() }

      override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(school, forKey: .school)
      }
    }
    try Kind.inMemory.with { garage in
      let sam = Person("Sam")
      sam.brother = Student("Nick", school: "MIT")
      try garage.park(sam)
      let found = try #require(try garage.retrieve(Person.self, identifier: "Sam"))
      #expect((found.brother as? Student)?.school == "MIT")
      #expect(try garage.retrieve(Student.self, identifier: "Nick")?.name == "Nick")
      #expect(try garage.retrieve(Person.self, identifier: "Nick") == nil)
    }
  }
}
