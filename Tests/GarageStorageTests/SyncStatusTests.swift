import Foundation
import Synchronization
import Testing

@testable import GarageStorage

@Suite struct SyncStatusTests {
  @Test(arguments: Kind.allCases)
  func theStatusIsParkedWithTheObject(kind: Kind) throws {
    try kind.with { garage in
      try garage.parkAll([Pet(1, "a", .syncing), Pet(2, "b", .notSynced), Pet(3, "c", .syncing)])
      try garage.park(Person("Sam"))
      let syncing: [Pet] = try garage.retrieveAll(withStatus: .syncing)
      #expect(syncing.map(\.number) == [1, 3])
      #expect(syncing.allSatisfy { $0.syncStatus == .syncing })
      #expect(try garage.retrieveAll(Pet.self, withStatus: .synced).isEmpty)
      #expect(try garage.retrieve(Pet.self, identifier: 2)?.syncStatus == .notSynced)
    }
  }

  @Test(arguments: Kind.allCases, [true, false])
  func theStatusIsSetWithoutParking(kind: Kind, autosaves: Bool) throws {
    try kind.with { garage in
      garage.isAutosaveEnabled = autosaves
      let pets = (0..<4).map { Pet($0, "x") }
      try garage.parkAll(pets)
      pets[0].name = "changed"
      try garage.setSyncStatus(.syncing, for: pets[0])
      try garage.setSyncStatus(.synced, for: [pets[1], pets[2]])
      #expect(try garage.syncStatus(for: pets[0]) == .syncing)
      #expect(try garage.retrieve(Pet.self, identifier: 0)?.name == "x")
      #expect(try garage.retrieve(Pet.self, identifier: 1)?.syncStatus == .synced)
      #expect(try garage.retrieveAll(Pet.self, withStatus: .notSynced).map(\.number) == [3])
      #expect(try garage.retrieveAll(Pet.self, withStatus: .synced).map(\.number) == [1, 2])
      try garage.save()
      #expect(try garage.retrieveAll(Pet.self, withStatus: .synced).map(\.number) == [1, 2])
      try garage.park(pets[1])
      #expect(try garage.retrieveAll(Pet.self, withStatus: .synced).map(\.number) == [2])
      try garage.delete(pets[2])
      #expect(try garage.retrieveAll(Pet.self, withStatus: .synced).isEmpty)
    }
  }

  @Test(arguments: Kind.allCases)
  func settingItForWhatIsNotParkedChangesNothing(kind: Kind) throws {
    try kind.with { garage in
      try garage.park(Pet(1))
      #expect(throws: GarageError.failedToRetrieveObject("Pet \"2\"")) {
        try garage.setSyncStatus(.synced, for: [Pet(1), Pet(2)])
      }
      #expect(throws: GarageError.failedToRetrieveObject("Pet \"2\"")) { try garage.syncStatus(for: Pet(2)) }
      #expect(try garage.syncStatus(for: Pet(1)) == .notSynced)
    }
  }

  @Test(arguments: Kind.allCases)
  func anObjectParkedAfterItWasDeletedIsNew(kind: Kind) throws {
    struct Plain: Codable, Identifiable { var id: Int }
    try kind.with { garage in
      for autosaves in [true, false] {
        garage.isAutosaveEnabled = autosaves
        let pet = Pet(1, "", .synced)
        try garage.park(pet)
        try garage.save()
        try garage.delete(pet)
        pet.syncStatus = .undetermined
        try garage.park(pet)
        #expect(try garage.syncStatus(for: pet) == .undetermined)
        try garage.save()
        #expect(try garage.retrieveAll(Pet.self, withStatus: .synced).isEmpty)
        #expect(try garage.retrieveAll(Pet.self, withStatus: .undetermined).count == 1)
      }
    }
  }

  @Test func aQueryReadsOnlyItsMatches() throws {
    try Kind.durable.with { garage in
      try garage.parkAll((0..<2_000).map { Pet($0, "", $0 % 500 == 7 ? .syncing : .synced) })
      let store = try garage.lmdb
      let before = store.recordsRead.load(ordering: .relaxed)
      #expect(try garage.retrieveAll(Pet.self, withStatus: .syncing).count == 4)
      #expect(store.recordsRead.load(ordering: .relaxed) - before == 4)
      #expect(try garage.retrieve(Pet.self, identifier: 1_000) != nil)
      #expect(store.recordsRead.load(ordering: .relaxed) - before == 5)
    }
  }

  struct Stop: Codable, Equatable, Syncable {
    var name: String
    var syncStatus = SyncStatus.notSynced

    private enum CodingKeys: CodingKey { case name }

    init(_ name: String, _ status: SyncStatus) {
      self.name = name
      syncStatus = status
    }
  }

  struct Tour: Codable, Identifiable {
    var id = "tour"
    var first: Stop
    var others: [Stop]
  }

  /// The parked status wins over that of a new instance.
  @Test(arguments: Kind.allCases, SyncStatus.allCases)
  func aNestedValueKeepsItsStatus(kind: Kind, status: SyncStatus) throws {
    try kind.with { garage in
      try garage.park(Tour(first: Stop("Rome", status), others: [Stop("Oslo", status)]))
      let tour = try #require(try garage.retrieve(Tour.self, identifier: "tour"))
      #expect(tour.first == Stop("Rome", status) && tour.others == [Stop("Oslo", status)])
    }
  }

  final class MappedStop: NSObject, MappableObject, Syncable {
    var name = ""
    var syncStatus = SyncStatus.synced

    override required init() {}

    static var objectMapping: ObjectMapping {
      let mapping = ObjectMapping(for: MappedStop.self)
      mapping.addMappings(["name": \MappedStop.name])
      return mapping
    }
  }

  final class MappedTour: NSObject, MappableObject {
    var name = ""
    var stop: MappedStop?

    override required init() {}

    static var objectMapping: ObjectMapping {
      let mapping = ObjectMapping(for: MappedTour.self)
      mapping.addMappings(["name": \MappedTour.name, "stop": \MappedTour.stop])
      mapping.identifyingAttribute = "name"
      return mapping
    }
  }

  @Test(arguments: Kind.allCases, SyncStatus.allCases)
  func aNestedMappedObjectKeepsItsStatus(kind: Kind, status: SyncStatus) throws {
    try kind.with { garage in
      let tour = MappedTour()
      tour.name = "tour"
      let stop = MappedStop()
      stop.name = "Rome"
      stop.syncStatus = status
      tour.stop = stop
      try garage.parkObject(tour)
      let found = try #require(try garage.retrieveObject(MappedTour.self, identifier: "tour"))
      #expect(found.stop?.name == "Rome" && found.stop?.syncStatus == status)
    }
  }
}
