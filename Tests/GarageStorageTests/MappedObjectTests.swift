import Foundation
import Testing

@testable import GarageStorage

// At the top level, so that another process finds them by name.

class MappedAnimal: NSObject, MappableObject, Syncable {
  var name = ""
  /// The parked status wins over the status of a new instance.
  var syncStatus = SyncStatus.synced

  override required init() {}

  class var objectMapping: ObjectMapping {
    let mapping = ObjectMapping(for: MappedAnimal.self)
    mapping.addMappings(["name": \MappedAnimal.name])
    return mapping
  }

  convenience init(_ name: String, _ status: SyncStatus = .undetermined) {
    self.init()
    self.name = name
    syncStatus = status
  }
}

final class MappedDog: MappedAnimal {
  var tricks = ["sit"]
  var friend: MappedAnimal?

  override class var objectMapping: ObjectMapping {
    let mapping = super.objectMapping
    mapping.addMappings(["tricks": \MappedDog.tricks, "friend": \MappedDog.friend])
    return mapping
  }
}

class MappedHuman: NSObject, MappableObject, Syncable {
  var name = ""
  var ssn = ""
  var birthdate = Date(timeIntervalSinceReferenceDate: 1.5)
  var age: Int?
  var friends: [MappedHuman] = []
  var boss: MappedBoss?
  var pet = MappedAnimal()
  var best: MappedAnimal?
  var others: [MappedAnimal] = []
  var byName: [String: MappedAnimal?] = [:]
  var codable: Address?
  var syncStatus = SyncStatus.undetermined

  override required init() {}

  class var objectMapping: ObjectMapping {
    let mapping = ObjectMapping.mapping(for: MappedHuman.self)
    mapping.addMappings([
      "name": \MappedHuman.name, "ssn": \MappedHuman.ssn, "birthdate": \MappedHuman.birthdate,
      "friends": \MappedHuman.friends, "boss": \MappedHuman.boss, "pet": \MappedHuman.pet, "best": \MappedHuman.best,
      "others": \MappedHuman.others, "byName": \MappedHuman.byName, "codable": \MappedHuman.codable,
    ])
    mapping.addMapping("years", \MappedHuman.age)
    mapping.identifyingAttribute = "ssn"
    return mapping
  }

  convenience init(_ ssn: String, _ friends: [MappedHuman] = []) {
    self.init()
    self.ssn = ssn
    self.friends = friends
  }
}

final class MappedBoss: MappedHuman {}

@Suite struct MappedObjectTests {
  let garage = Garage(with: [.inMemory])

  @Test(arguments: Kind.allCases)
  func objectsAreParkedByTheirMapping(kind: Kind) throws {
    try kind.with { garage in
      let friend = MappedHuman("2")
      friend.age = 7
      friend.syncStatus = .syncing
      let human = MappedHuman("1", [friend, friend])
      human.name = "Sam"
      human.codable = Address(street: "", city: "Oslo", zip: "")
      // Objects of several classes.
      try garage.parkObjects([human, MappedAnimal("cat")])

      let found = try #require(try garage.retrieveObject(MappedHuman.self, identifier: "1"))
      #expect(found.name == "Sam" && found.age == nil && found.birthdate == human.birthdate)
      #expect(found.codable == human.codable && found.friends.count == 2 && found.friends[0] === found.friends[1])
      #expect(found.friends[0].age == 7 && found.friends[0].syncStatus == .syncing)
      #expect(try garage.retrieveAllObjects(MappedHuman.self).map(\.ssn) == ["1", "2"])
      #expect(try garage.retrieveAllObjects(MappedAnimal.self).map(\.name) == ["cat"])
      let syncing: [MappedHuman] = try garage.retrieveObjects(withStatus: .syncing)
      #expect(syncing.map(\.ssn) == ["2"])
      try garage.setSyncStatus(.synced, for: friend)
      try garage.setSyncStatus(.notSynced, for: [human])
      #expect(try garage.syncStatus(for: human) == .notSynced)
      #expect(try garage.retrieveObjects(withStatus: .synced, ofClass: MappedHuman.self).map(\.ssn) == ["2"])

      try garage.deleteObject(human)
      #expect(throws: GarageError.failedToRetrieveObject("MappedHuman \"1\"")) { try garage.deleteObject(human) }
      #expect(try garage.retrieveObject(MappedHuman.self, identifier: "1") == nil)
      try garage.deleteAllObjects(MappedHuman.self)
      #expect(try garage.retrieveAllObjects(MappedHuman.self).isEmpty)
    }
  }

  @Test(arguments: Kind.allCases)
  func nestedObjectsKeepTheirClassAndTheirStatus(kind: Kind) throws {
    try kind.with { garage in
      let human = MappedHuman("Sam")
      let rex = MappedDog("Rex", .syncing)
      rex.friend = MappedDog("Bello", .synced)
      human.pet = rex
      human.best = MappedDog("Hasso")
      human.others = [MappedAnimal("cat", .notSynced), MappedDog("Fido", .notSynced)]
      human.byName = ["a": MappedDog("Lassie"), "b": nil]
      var parked = human
      for _ in 0..<2 {
        try garage.parkObject(parked)
        let found = try #require(try garage.retrieveObject(MappedHuman.self, identifier: "Sam"))
        let rex = try #require(found.pet as? MappedDog)
        #expect(rex.tricks == ["sit"] && rex.name == "Rex" && rex.syncStatus == .syncing)
        #expect((rex.friend as? MappedDog)?.name == "Bello" && rex.friend?.syncStatus == .synced)
        #expect((found.best as? MappedDog)?.name == "Hasso" && found.best?.syncStatus == .undetermined)
        #expect(found.others.map(\.syncStatus) == [.notSynced, .notSynced])
        #expect(found.others.map { $0 is MappedDog } == [false, true])
        #expect((found.byName["a"] as? MappedDog)?.name == "Lassie")
        parked = found
      }
      #expect(try garage.content(MappedHuman.self, "Sam")?.contains(#"{"gs_syncStatus":1,"name":"cat"}"#) == true)
    }
  }

  @Test func anObjectWithoutAnIdentifierIsFoundByItsContent() throws {
    try garage.parkAllObjects([MappedAnimal("cat"), MappedAnimal("cat"), MappedAnimal("cow")])
    #expect(Set(try garage.retrieveAllObjects(MappedAnimal.self).map(\.name)) == ["cat", "cow"])
    try garage.deleteObject(MappedAnimal("cat"))
    #expect(try garage.retrieveAllObjects(MappedAnimal.self).map(\.name) == ["cow"])
    // The status does not count, and the class does.
    let (one, two) = (MappedDog("Rex", .synced), MappedDog("Rex", .syncing))
    one.friend = MappedAnimal("cat", .synced)
    two.friend = MappedAnimal("cat", .notSynced)
    try garage.parkAllObjects([one, two])
    #expect(try garage.retrieveAllObjects(MappedDog.self).map(\.syncStatus) == [.syncing])
    let dog = MappedDog("cat")
    dog.tricks = []
    two.friend = dog
    try garage.parkObject(two)
    #expect(try garage.retrieveAllObjects(MappedDog.self).count == 2)
  }

  @Test func aCycleIsParkedAndNamed() throws {
    let one = MappedHuman("1", [MappedHuman("2")])
    one.friends[0].friends = [one]
    defer { one.friends = [] }
    try garage.parkObject(one)
    let path = #"MappedHuman "1".friends[0] → MappedHuman "2".friends[0] → MappedHuman "1""#
    #expect(throws: GarageError.cycle(path: path)) { try garage.retrieveObject(MappedHuman.self, identifier: "1") }
  }

  @Test func aMappedClassBecomesACodableOne() throws {
    final class Citizen: Codable, Identifiable {
      var id: String
      var birthdate: Date
      var friends: [Citizen]
      @Migratable var best: Animal?
      struct Animal: Codable { var name: String }
      enum CodingKeys: String, CodingKey { case id = "ssn", birthdate, friends, best }
    }
    let human = MappedHuman("1", [MappedHuman("2")])
    human.best = MappedAnimal("cat")
    try garage.parkObject(human)
    try garage.migrateAll(from: MappedHuman.self, to: Citizen.self)
    let found = try #require(try garage.retrieve(Citizen.self, identifier: "1"))
    #expect(found.friends[0].id == "2" && found.best?.name == "cat" && found.birthdate == human.birthdate)
  }

  final class Odd: NSObject, MappableObject {
    nonisolated(unsafe) static var mappings: [String: PartialKeyPath<Odd>] = [:]
    nonisolated(unsafe) static var identifyingAttribute: String?
    let constant = 1
    var pattern: NSObject?
    var name: String? = nil
    override required init() {}
    static var objectMapping: ObjectMapping {
      let mapping = ObjectMapping(for: Odd.self)
      mapping.addMappings(mappings)
      mapping.identifyingAttribute = identifyingAttribute
      return mapping
    }
  }

  @Test func aMappingThatCannotBeUsedIsAnError() throws {
    // A constant, a type that cannot be mapped, a reserved name, a missing and a nil identifier.
    for (mappings, identifier) in [
      (["name": \Odd.constant], nil), (["name": \Odd.pattern], nil), (["gs_type": \Odd.name], nil), ([:], "name"),
      (["name": \Odd.name], "name"),
    ] as [([String: PartialKeyPath<Odd>], String?)] {
      (Odd.mappings, Odd.identifyingAttribute) = (mappings, identifier)
      #expect(failure { try garage.parkObject(Odd()) }?.code == .invalidMapping)
    }
  }
}
