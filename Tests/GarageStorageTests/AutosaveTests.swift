import Foundation
import LMDB
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct AutosaveTests {
  let directory = GarageDirectory()

  @Test func changesWaitForTheSave() throws {
    let (garage, other) = (directory.garage(), directory.garage())
    try garage.parkAll([Pet(1, "old"), Pet(2, "old"), Pet(5, "old")])
    garage.isAutosaveEnabled = false
    try garage.park(Pet(1, "new"))
    try garage.park(Pet(3, "new"))
    try garage.delete(Pet(2))
    try garage.setSyncStatus(.synced, for: Pet(5))

    // The garage itself sees unsaved changes, by every kind of lookup.
    #expect(try garage.retrieveAll(Pet.self).map(\.name) == ["new", "new", "old"])
    #expect(try garage.retrieve(Pet.self, identifier: 2) == nil)
    #expect(try garage.retrieveAll(Pet.self, withStatus: .notSynced).map(\.number) == [1, 3])
    #expect(try garage.retrieveAll(Pet.self, withStatus: .synced).map(\.number) == [5])
    #expect(throws: GarageError.self) { try garage.delete(Pet(2)) }
    // Other garages do not.
    #expect(try other.retrieveAll(Pet.self).map(\.name) == ["old", "old", "old"])

    try garage.save()
    #expect(try other.retrieveAll(Pet.self).map(\.number) == [1, 3, 5])
    #expect(try other.retrieveAll(Pet.self, withStatus: .synced).map(\.number) == [5])
    try garage.save()
  }

  @Test func clearingWaitsToo() throws {
    let (garage, other) = (directory.garage(), directory.garage())
    try garage.parkAll([Pet(1, "", .synced), Pet(2)])
    try garage.park(Person("Sam"))
    garage.isAutosaveEnabled = false
    try garage.deleteAll(Pet.self)
    try garage.park(Pet(3))
    #expect(try garage.retrieveAll(Pet.self).map(\.number) == [3])
    #expect(try garage.retrieveAll(Pet.self, withStatus: .synced).isEmpty)
    #expect(try garage.retrieve(Person.self, identifier: "Sam") != nil)
    try garage.deleteAllObjects()
    #expect(try garage.retrieve(Person.self, identifier: "Sam") == nil)
    try garage.park(Pet(4))
    #expect(try other.retrieveAll(Pet.self).count == 2)
    try garage.save()
    #expect(try other.retrieveAll(Pet.self).map(\.number) == [4])
    #expect(try other.retrieveAll(Person.self).isEmpty)
  }

  @Test func whatWasNotSavedIsLostAsAWhole() throws {
    do {
      let garage = directory.garage()
      try garage.park(Pet(1))
      garage.isAutosaveEnabled = false
      try garage.park(Pet(2))
      try garage.park(Pet(3))
    }
    #expect(try directory.garage().retrieveAll(Pet.self).map(\.number) == [1])
  }

  @Test func autosaveSavesWhatWaited() throws {
    let (garage, other) = (directory.garage(), directory.garage())
    garage.isAutosaveEnabled = false
    try garage.park(Pet(1))
    garage.isAutosaveEnabled = true
    #expect(try other.retrieveAll(Pet.self).isEmpty)
    try garage.park(Pet(2))
    #expect(try other.retrieveAll(Pet.self).count == 2)
  }

  @Test func aBatchIsOneTransaction() throws {
    let (garage, other) = (directory.garage(), directory.garage())
    let result = try garage.withAutosaveDisabled {
      #expect(!garage.isAutosaveEnabled)
      try garage.park(Pet(1))
      try garage.park(Pet(2))
      #expect(try garage.retrieveAll(Pet.self).count == 2)
      #expect(try other.retrieveAll(Pet.self).isEmpty)
      // Other threads see changes only once they are saved.
      let seen = Guarded(-1)
      concurrently(1) { _ in
        seen { $0 = (try? garage.retrieveAll(Pet.self).count) ?? -1 }
        #expect(garage.isAutosaveEnabled)
      }
      #expect(seen.current == 0)
      return 42
    }
    #expect(result == 42 && garage.isAutosaveEnabled)
    #expect(try other.retrieveAll(Pet.self).count == 2)
    try garage.save()
  }

  @Test func aBatchThatThrowsLeavesNothing() throws {
    struct Stop: Error {}
    let garage = directory.garage()
    garage.isAutosaveEnabled = false
    try garage.park(Pet(1))
    #expect(throws: Stop.self) {
      try garage.withAutosaveDisabled {
        try garage.park(Pet(2))
        try garage.deleteAll(Pet.self)
        throw Stop()
      }
    }
    #expect(try garage.retrieveAll(Pet.self).map(\.number) == [1])
    garage.isAutosaveEnabled = true
    try garage.withAutosaveDisabled {
      try garage.park(Pet(3))
      #expect(throws: Stop.self) {
        try garage.withAutosaveDisabled {
          try garage.park(Pet(4))
          throw Stop()
        }
      }
      try garage.withAutosaveDisabled { try garage.park(Pet(5)) }
    }
    #expect(try directory.garage().retrieveAll(Pet.self).map(\.number) == [1, 3, 5])
  }

  @Test func savingInsideABatchSavesWhatIsThere() throws {
    struct Stop: Error {}
    let garage = directory.garage()
    #expect(throws: Stop.self) {
      try garage.withAutosaveDisabled {
        try garage.park(Pet(1))
        try garage.save()
        try garage.park(Pet(2))
        throw Stop()
      }
    }
    #expect(try garage.retrieveAll(Pet.self).map(\.number) == [1])
  }

  /// Compares random operations in several modes with a dictionary.
  @Test(arguments: 0..<8)
  func aModelAgrees(seed: Int) throws {
    struct Stop: Error {}
    var random = SeededRandom(UInt64(seed))
    let garage = directory.garage()
    var model: [Int: (String, SyncStatus)] = [:]
    func step(_ random: inout SeededRandom, _ model: inout [Int: (String, SyncStatus)]) throws {
      let number = random.below(12)
      switch random.below(20) {
      case 0..<9:
        let pet = Pet(number, "\(random.below(1_000))", SyncStatus(rawValue: random.below(4))!)
        try garage.park(pet)
        model[number] = (pet.name, pet.syncStatus)
      case 9..<13:
        guard model[number] != nil else {
          #expect(throws: GarageError.self) { try garage.delete(Pet(number)) }
          return
        }
        try garage.delete(Pet(number))
        model[number] = nil
      case 13..<17:
        let status = SyncStatus(rawValue: random.below(4))!
        guard model[number] != nil else { return }
        try garage.setSyncStatus(status, for: Pet(number))
        model[number]?.1 = status
      case 17:
        try garage.deleteAll(Pet.self)
        model = [:]
      case 18: try garage.save()
      default: garage.isAutosaveEnabled.toggle()
      }
    }
    func check() throws {
      let pets = try garage.retrieveAll(Pet.self)
      #expect(Dictionary(uniqueKeysWithValues: pets.map { ($0.number, $0.name) }) == model.mapValues(\.0))
      for status in SyncStatus.allCases {
        let numbers = try garage.retrieveAll(Pet.self, withStatus: status).map(\.number)
        #expect(Set(numbers) == Set(model.filter { $0.value.1 == status }.keys))
      }
    }
    for _ in 0..<60 {
      if random.below(5) == 0 {
        var copy = model
        let fails = random.below(2) == 0
        let autosaves = garage.isAutosaveEnabled
        do {
          try garage.withAutosaveDisabled {
            for _ in 0..<5 { try step(&random, &copy) }
            if fails { throw Stop() }
          }
          model = copy
        } catch is Stop {
          // A save inside the batch counts; this model makes none then.
          if try Set(garage.retrieveAll(Pet.self).map(\.number)) != Set(model.keys) { return }
        }
        garage.isAutosaveEnabled = autosaves
      } else {
        try step(&random, &model)
      }
      try check()
    }
    try garage.save()
    try check()
  }
}
