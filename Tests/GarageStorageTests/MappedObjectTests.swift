import Foundation
import Testing

@testable import GarageStorage

@Suite struct MappedObjectTests {
  class Human: NSObject, MappableObject, Syncable {
    var name: String = ""
    var ssn: String = ""
    var birthdate = Date(timeIntervalSinceReferenceDate: 1.5)
    var age: Int?
    var home: Place?
    var friends: [Human] = []
    var places: [String: Place] = [:]
    var codable: Address?
    var syncStatus = SyncStatus.undetermined

    override required init() {}

    class var objectMapping: ObjectMapping {
      let mapping = ObjectMapping(for: Human.self)
      mapping.addMappings([
        "name": \Human.name, "ssn": \Human.ssn, "birthdate": \Human.birthdate, "home": \Human.home,
        "friends": \Human.friends, "places": \Human.places, "codable": \Human.codable,
      ])
      mapping.addMapping("years", \Human.age)
      mapping.identifyingAttribute = "ssn"
      return mapping
    }
  }

  final class Place: NSObject, MappableObject {
    var city = ""
    override required init() {}
    static var objectMapping: ObjectMapping {
      let mapping = ObjectMapping.mapping(for: Place.self)
      mapping.addMappings(["city": \Place.city])
      return mapping
    }
  }

  func place(_ city: String) -> Place {
    let place = Place()
    place.city = city
    return place
  }

  func human(_ ssn: String, _ friends: [Human] = []) -> Human {
    let human = Human()
    human.name = "Human \(ssn)"
    human.ssn = ssn
    human.friends = friends
    return human
  }

  @Test(arguments: Kind.allCases)
  func objectsAreParkedByTheirMapping(kind: Kind) throws {
    try kind.with { garage in
      let friend = human("2")
      friend.age = 7
      friend.syncStatus = .syncing
      let human = human("1", [friend, friend])
      human.home = place("Boston")
      human.places = ["work": place("Rome")]
      human.codable = Address(street: "", city: "Oslo", zip: "")
      try garage.parkObject(human)

      let found = try #require(try garage.retrieveObject(Human.self, identifier: "1"))
      #expect(found.name == "Human 1" && found.age == nil && found.birthdate == human.birthdate)
      #expect(found.home?.city == "Boston" && found.places["work"]?.city == "Rome" && found.codable?.city == "Oslo")
      #expect(found.friends.count == 2 && found.friends[0] === found.friends[1])
      #expect(found.friends[0].age == 7 && found.friends[0].syncStatus == .syncing)
      #expect(try garage.retrieveAllObjects(Human.self).map(\.ssn) == ["1", "2"])
      #expect(try garage.retrieveAllObjects(Place.self).isEmpty)
      let syncing: [Human] = try garage.retrieveObjects(withStatus: .syncing)
      #expect(syncing.map(\.ssn) == ["2"])
      try garage.setSyncStatus(.synced, for: friend)
      try garage.setSyncStatus(.synced, for: [human])
      #expect(try garage.syncStatus(for: human) == .synced)

      try garage.deleteObject(human)
      #expect(throws: GarageError.failedToRetrieveObject("Human \"1\"")) { try garage.deleteObject(human) }
      #expect(try garage.retrieveObject(Human.self, identifier: "1") == nil)
      try garage.deleteAllObjects(Human.self)
      #expect(try garage.retrieveAllObjects(Human.self).isEmpty)
    }
  }

  @Test func anObjectWithoutAnIdentifierIsFoundByItsContent() throws {
    try Kind.inMemory.with { garage in
      try garage.parkAllObjects([place("Rome"), place("Rome"), place("Oslo")])
      #expect(Set(try garage.retrieveAllObjects(Place.self).map(\.city)) == ["Rome", "Oslo"])
      try garage.deleteObject(place("Rome"))
      #expect(try garage.retrieveAllObjects(Place.self).map(\.city) == ["Oslo"])
    }
  }

  /// Uses the original's other names.
  @Test func objectsOfSeveralClassesAreParkedAndFoundByTheirStatus() throws {
    final class Car: NSObject, MappableObject, SyncableObject {
      var plate = ""
      var syncStatus = SyncStatus.notSynced
      override required init() {}
      static var objectMapping: ObjectMapping {
        let mapping = ObjectMapping(for: Car.self)
        mapping.addMappings(["plate": \Car.plate])
        mapping.identifyingAttribute = "plate"
        return mapping
      }
    }
    try Kind.inMemory.with { garage in
      let car = Car()
      car.plate = "X 1"
      try garage.parkObjects([human("1"), car, place("Rome")])
      try garage.parkObjects([])
      #expect(try garage.retrieveObject(Human.self, identifier: "1") != nil)
      #expect(try garage.retrieveObjects(withStatus: .notSynced, ofClass: Car.self).map(\.plate) == ["X 1"])
      try garage.setSyncStatus(.synced, for: car)
      #expect(try garage.retrieveObjects(withStatus: .notSynced, ofClass: Car.self).isEmpty)
      let synced: [any MappableObject] = try garage.retrieveObjects(withStatus: .synced, ofClass: Car.self)
      #expect((synced.first as? any SyncableObject)?.syncStatus == .synced)
      let places = try garage.retrieveObjects(withStatus: .undetermined, ofClass: Place.self)
      #expect(places.map(\.city) == ["Rome"])
    }
  }

  @Test func aCycleIsParkedAndNamed() throws {
    try Kind.inMemory.with { garage in
      let (one, two) = (human("1"), human("2"))
      one.friends = [two]
      two.friends = [one]
      defer { one.friends = [] }
      try garage.parkObject(one)
      #expect(throws: GarageError.cycle(path: #"Human "1".friends[0] → Human "2".friends[0] → Human "1""#)) {
        try garage.retrieveObject(Human.self, identifier: "1")
      }
    }
  }

  @Test func aMappedClassBecomesACodableOne() throws {
    final class Citizen: Codable, Identifiable {
      var id: String
      var name: String
      var birthdate: Date
      var friends: [Citizen]
      @Migratable var home: Home?
      struct Home: Codable { var city: String }
      enum CodingKeys: String, CodingKey { case id = "ssn", name, birthdate, friends, home }
    }
    try Kind.durable.with { garage in
      let human = human("1", [human("2")])
      human.home = place("Boston")
      try garage.parkObject(human)
      try garage.migrateAll(from: Human.self, to: Citizen.self)
      let found = try #require(try garage.retrieve(Citizen.self, identifier: "1"))
      #expect(found.friends[0].name == "Human 2" && found.home?.city == "Boston")
      #expect(found.birthdate == human.birthdate)
    }
  }

  final class Odd: NSObject, MappableObject {
    nonisolated(unsafe) static var choice = 0
    let constant = 1
    var pattern: NSObject?
    var name: String? = nil
    override required init() {}
    static var objectMapping: ObjectMapping {
      let mapping = ObjectMapping(for: Odd.self)
      mapping.addMappings(["name": \Odd.name])
      switch choice {
      case 0: mapping.addMappings(["constant": \Odd.constant])
      case 1: mapping.addMappings(["pattern": \Odd.pattern])
      case 2: mapping.identifyingAttribute = "nothing"
      default: mapping.identifyingAttribute = "name"
      }
      return mapping
    }
  }

  @Test func aMappingThatCannotBeUsedIsAnError() throws {
    let garage = Garage(with: [.inMemory])
    for choice in 0..<4 {
      Odd.choice = choice
      let error = #expect(throws: GarageError.self) { try garage.parkObject(Odd()) }
      #expect(error?.code == .invalidMapping)
    }
  }

  final class Boss: Human {}

  final class Seat: NSObject, MappableObject {
    var human: Human?
    var boss: Boss?
    override required init() {}
    static var objectMapping: ObjectMapping {
      let mapping = ObjectMapping(for: Seat.self)
      mapping.addMappings(["human": \Seat.human, "boss": \Seat.boss])
      return mapping
    }
  }

  final class Team: NSObject, MappableObject {
    var name = ""
    var seats: [Seat] = []
    override required init() {}
    static var objectMapping: ObjectMapping {
      let mapping = ObjectMapping(for: Team.self)
      mapping.addMappings(["name": \Team.name, "seats": \Team.seats])
      mapping.identifyingAttribute = "name"
      return mapping
    }
  }
}
