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
}

final class MappedDog: MappedAnimal {
  var tricks: [String] = []
  var friend: MappedAnimal?

  override class var objectMapping: ObjectMapping {
    let mapping = super.objectMapping
    mapping.addMappings(["tricks": \MappedDog.tricks, "friend": \MappedDog.friend])
    return mapping
  }
}

final class MappedOwner: NSObject, MappableObject {
  var name = ""
  var pet = MappedAnimal()
  var best: MappedAnimal?
  var others: [MappedAnimal] = []
  var byName: [String: MappedAnimal?] = [:]

  override required init() {}

  static var objectMapping: ObjectMapping {
    let mapping = ObjectMapping(for: MappedOwner.self)
    mapping.addMappings([
      "name": \MappedOwner.name, "pet": \MappedOwner.pet, "best": \MappedOwner.best, "others": \MappedOwner.others,
      "byName": \MappedOwner.byName,
    ])
    mapping.identifyingAttribute = "name"
    return mapping
  }
}

@Suite struct NestedMappedObjectTests {
  func dog(_ name: String, _ status: SyncStatus = .undetermined) -> MappedDog {
    let dog = MappedDog()
    dog.name = name
    dog.tricks = ["sit", name]
    dog.syncStatus = status
    return dog
  }

  func animal(_ name: String, _ status: SyncStatus = .undetermined) -> MappedAnimal {
    let animal = MappedAnimal()
    animal.name = name
    animal.syncStatus = status
    return animal
  }

  func owner() -> MappedOwner {
    let owner = MappedOwner()
    owner.name = "Sam"
    let rex = dog("Rex", .syncing)
    rex.friend = dog("Bello", .synced)
    owner.pet = rex
    owner.best = dog("Hasso")
    owner.others = [animal("cat", .notSynced), dog("Fido", .notSynced)]
    owner.byName = ["a": dog("Lassie"), "b": nil]
    return owner
  }

  func check(_ owner: MappedOwner?) {
    let rex = owner?.pet as? MappedDog
    #expect(rex?.tricks == ["sit", "Rex"] && rex?.syncStatus == .syncing)
    let bello = rex?.friend as? MappedDog
    #expect(bello?.tricks == ["sit", "Bello"] && bello?.syncStatus == .synced)
    #expect((owner?.best as? MappedDog)?.tricks == ["sit", "Hasso"] && owner?.best?.syncStatus == .undetermined)
    #expect(owner?.others.count == 2 && owner.map { type(of: $0.others[0]) == MappedAnimal.self } == true)
    #expect(owner?.others.map(\.syncStatus) == [.notSynced, .notSynced])
    #expect((owner?.others[1] as? MappedDog)?.tricks == ["sit", "Fido"])
    #expect((owner?.byName["a"] as? MappedDog)?.tricks == ["sit", "Lassie"])
  }

  @Test(arguments: Kind.allCases)
  func theyKeepTheirClassAndTheirStatus(kind: Kind) throws {
    try kind.with { garage in
      try garage.parkObject(owner())
      let found = try #require(try garage.retrieveObject(MappedOwner.self, identifier: "Sam"))
      check(found)
      try garage.parkObject(found)
      check(try garage.retrieveObject(MappedOwner.self, identifier: "Sam"))
      let content = try #require(try garage.content(MappedOwner.self, "Sam"))
      #expect(content.contains(#"{"gs_syncStatus":1,"name":"cat"}"#), "\(content)")
    }
  }

  @Test func theIdentifierIsOfTheContentAndNotOfTheStatus() throws {
    let garage = Garage(with: [.inMemory])
    let (one, two) = (dog("Rex", .synced), dog("Rex", .syncing))
    one.friend = animal("cat", .synced)
    two.friend = animal("cat", .notSynced)
    try garage.parkObject(one)
    try garage.parkObject(two)
    #expect(try garage.retrieveAllObjects(MappedDog.self).map(\.syncStatus) == [.syncing])
    // Equal names in different classes are different objects.
    two.friend = dog("cat")
    (two.friend as? MappedDog)?.tricks = []
    try garage.parkObject(two)
    #expect(try garage.retrieveAllObjects(MappedDog.self).count == 2)
  }

  struct Home: Codable, Hashable, Syncable {
    var city: String
    var syncStatus = SyncStatus.notSynced
    private enum CodingKeys: CodingKey { case city }
  }

  struct Resident: Codable, Identifiable {
    var id = "r"
    var home: Home
    var others: [Home]
  }

  @Test func codableValuesInPlaceKeepTheirStatusToo() throws {
    let garage = Garage(with: [.inMemory])
    let resident = Resident(
      home: Home(city: "Rome", syncStatus: .synced),
      others: [Home(city: "Oslo", syncStatus: .undetermined), Home(city: "Bonn", syncStatus: .syncing)])
    try garage.park(resident)
    let found = try #require(try garage.retrieve(Resident.self, identifier: "r"))
    #expect(found.home == resident.home && found.others == resident.others)
    // A top-level object is identified by its content, whatever its status.
    var one = Home(city: "Rome", syncStatus: .synced)
    let identifier = try garage.identifier(for: one)
    one.syncStatus = .notSynced
    #expect(try garage.identifier(for: one) == identifier)
  }

  final class Reserved: NSObject, MappableObject {
    var kind = ""
    override required init() {}
    static var objectMapping: ObjectMapping {
      let mapping = ObjectMapping(for: Reserved.self)
      mapping.addMappings(["gs_type": \Reserved.kind])
      return mapping
    }
  }

  @Test func theGaragesOwnNamesAreReserved() throws {
    let error = #expect(throws: GarageError.self) { try Garage(with: [.inMemory]).parkObject(Reserved()) }
    #expect(error?.code == .invalidMapping && error?.message.contains("gs_type") == true)
  }
}
