import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import GarageStorage

/// Compares random histories of a garage with dictionaries: batches, saves, failures of the disk and restarts among
/// them. A second garage on the same store sees the saved objects and no others.
@Suite struct ModelTests {
  @Test(arguments: Kind.allCases, 0..<24)
  func aDictionaryAgrees(kind: Kind, seed: Int) throws {
    let history = try History(kind, seed: seed)
    for _ in 0..<60 {
      try history.step()
      try history.check()
    }
    try history.end()
  }

  @Test func otherThreadsSeeABatchOnceItIsSaved() throws {
    let garage = Garage(with: [.inMemory])
    let result = try garage.withAutosaveDisabled {
      try garage.park(Pet(1))
      concurrently(1) { _ in
        #expect((try? garage.retrieveAll(Pet.self).count) == 0)
        #expect(garage.isAutosaveEnabled)
      }
      return 42
    }
    #expect(result == 42)
    #expect(try garage.retrieveAll(Pet.self).count == 1)
  }

  @Test func aQueryReadsOnlyItsMatches() throws {
    try Kind.durable.with { garage in
      try garage.parkAll((0..<2_000).map { Pet($0, "", $0 % 500 == 7 ? .syncing : .synced) })
      #expect(try garage.reads { _ = try garage.retrieveAll(Pet.self, withStatus: .syncing) } == 4)
      #expect(try garage.reads { _ = try garage.retrieve(Pet.self, identifier: 1_000) } == 1)
    }
  }

  struct Contents: Equatable {
    struct Record: Equatable {
      var name: String
      var status: SyncStatus
    }

    var pets: [Int: Record] = [:]
    var people: [String: Int] = [:]

    init() {}

    init(of garage: Garage) throws {
      for pet in try garage.retrieveAll(Pet.self) { park(pet) }
      for person in try garage.retrieveAll(Person.self) { people[person.name] = person.age }
    }

    mutating func park(_ pet: Pet) { pets[pet.number] = Record(name: pet.name, status: pet.syncStatus) }
  }

  final class History {
    private struct Stop: Error {}

    private static let numbers = 8
    /// `nil` for a garage in memory.
    private let directory: GarageDirectory?
    private let isEncrypted: Bool
    private var garage: Garage
    private let other: Garage?
    private var random: SeededRandom
    private var number = 0
    /// The garage's own view.
    private var visible = Contents()
    private var saved = Contents()
    private var isWaiting = false
    private var autosaves = true
    /// The number of open batches.
    private var depth = 0
    private var saves = 0
    private var isFailing = false

    init(_ kind: Kind, seed: Int) throws {
      random = SeededRandom(UInt64(seed))
      isEncrypted = seed % 4 == 3
      directory = kind == .durable ? GarageDirectory() : nil
      garage = History.garage(directory, isEncrypted)
      other = directory.map { History.garage($0, seed % 4 == 3) }
      // Opens both, which would fail during an injected failure.
      try check()
    }

    private static func garage(_ directory: GarageDirectory?, _ isEncrypted: Bool) -> Garage {
      let garage = directory?.garage() ?? Garage(with: [.inMemory])
      if isEncrypted { garage.dataEncryptionDelegate = Reversing() }
      return garage
    }

    // MARK: Operations

    private func status() -> SyncStatus { SyncStatus(rawValue: random.below(4))! }

    private func pet(_ number: Int) -> Pet {
      self.number += 1
      return Pet(number, "\(self.number)", status())
    }

    func step() throws {
      let one = random.below(Self.numbers)
      let two = (one + 1) % Self.numbers
      let garage = garage
      switch random.below(26) {
      case 0..<6:
        let pet = pet(one)
        try change({ $0.park(pet) }) { try garage.park(pet) }
      case 6, 7:
        // The last of two objects with one identifier counts.
        let pets = [pet(one), pet(two), pet(one)]
        try change({ contents in pets.forEach { contents.park($0) } }) { try garage.parkAll(pets) }
      case 8, 9:
        let person = Person("person \(one % 3)", age: one)
        try change({ $0.people[person.name] = person.age }) { try garage.park(person) }
      case 10..<13:
        let missing = visible.pets[one] == nil ? one : nil
        try change({ $0.pets[one] = nil }, unlessMissing: missing) { try garage.delete(Pet(one)) }
      case 13..<17:
        let status = status()
        let missing = [one, two].first { visible.pets[$0] == nil }
        try change({ contents in [one, two].forEach { contents.pets[$0]?.status = status } }, unlessMissing: missing) {
          try garage.setSyncStatus(status, for: [Pet(one, "not parked"), Pet(two, "not parked")])
        }
      case 17: try change({ $0.pets = [:] }) { try garage.deleteAll(Pet.self) }
      case 18: try change({ $0.people = [:] }) { try garage.deleteAll(Person.self) }
      case 19: try change({ $0 = Contents() }) { try garage.deleteAllObjects() }
      case 20: if try succeeds(calls: [.put, .txnCommit], { try garage.save() }), isWaiting { noteSave() }
      case 21:
        autosaves.toggle()
        garage.isAutosaveEnabled = autosaves
      case 22, 23: if depth < 3 { try batch() }
      case 24: restart()
      default: try writeElsewhere()
      }
    }

    /// Runs a change, which leaves everything as it was if it throws.
    private func change(
      _ expected: (inout Contents) -> Void, unlessMissing missing: Int? = nil, _ operation: () throws -> Void
    ) throws {
      if let missing {
        let error = failure(of: operation)
        return #expect(error == .failedToRetrieveObject("Pet \"\(missing)\""))
      }
      guard try succeeds(calls: [.put, .txnCommit, .txnBegin], operation) else { return }
      expected(&visible)
      isWaiting = true
      if depth == 0, autosaves { noteSave() }
    }

    private func noteSave() {
      saved = visible
      isWaiting = false
      saves += 1
    }

    private func batch() throws {
      let (before, wasWaiting, savesBefore) = (visible, isWaiting, saves)
      let (garage, stops) = (garage, random.below(3) == 0)
      depth += 1
      defer { depth -= 1 }
      do {
        let isDone = try succeeds(calls: [.put, .txnCommit], isOutermost: depth == 1) {
          try garage.withAutosaveDisabled {
            #expect(!garage.isAutosaveEnabled)
            for _ in 0...random.below(5) {
              try step()
              try check()
            }
            if stops { throw Stop() }
          }
        }
        if isDone {
          if depth == 1, autosaves, isWaiting { noteSave() }
          return
        }
      } catch is Stop {}
      // Changes that the batch itself has saved stay.
      visible = saves == savesBefore ? before : saved
      isWaiting = saves == savesBefore && wasWaiting
    }

    /// Unsaved changes are lost with their garage.
    private func restart() {
      guard let directory, depth == 0 else { return }
      garage = Self.garage(directory, isEncrypted)
      (visible, isWaiting, autosaves) = (saved, false, true)
    }

    private func writeElsewhere() throws {
      guard let other, depth == 0, !isWaiting else { return }
      let pet = pet(random.below(Self.numbers))
      try other.park(pet)
      visible.park(pet)
      saved = visible
    }

    /// Sometimes fails the store's calls during the operation. Returns `false` if the operation threw the store's error.
    private func succeeds(
      calls: [FaultInjection.Call], isOutermost: Bool? = nil, _ operation: () throws -> Void
    ) throws -> Bool {
      let wasFailing = isFailing
      defer { isFailing = wasFailing }
      do {
        if isOutermost ?? (depth == 0), directory != nil, random.below(5) == 0 {
          isFailing = true
          let rule = FaultInjection.Rule(calls[random.below(calls.count)], returns: ENOSPC, count: .max)
          let path = try garage.lmdb.environment.directory
          try FaultInjection.with(.directory(path), rule, perform: operation)
        } else {
          try operation()
        }
        return true
      } catch let error as GarageError where isFailing {
        // Within a failing batch, a save fails too.
        #expect(error.code == .storageFailed)
        return false
      }
    }

    // MARK: Checks

    func check() throws {
      #expect(try Contents(of: garage) == visible)
      if let other { #expect(try Contents(of: other) == saved) }
      for status in SyncStatus.allCases {
        let found = try garage.retrieveAll(Pet.self, withStatus: status).map(\.number)
        #expect(found == visible.pets.filter { $0.value.status == status }.keys.sorted())
      }
      let number = random.below(Self.numbers)
      let expected = visible.pets[number]
      #expect(try garage.retrieve(Pet.self, identifier: number)?.name == expected?.name)
      if let expected {
        #expect(try garage.syncStatus(for: Pet(number)) == expected.status)
      } else {
        #expect(throws: GarageError.self) { try garage.syncStatus(for: Pet(number)) }
      }
    }

    func end() throws {
      try garage.save()
      saved = visible
      try check()
    }
  }
}
