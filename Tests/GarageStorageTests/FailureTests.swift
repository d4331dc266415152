import Foundation
import LMDB
import Platform
import TestSupport
import Testing

@testable import GarageStorage

@Suite struct FailureTests {
  let directory = GarageDirectory()

  @Test(arguments: [FaultInjection.Call.get, .cursorGet, .txnRenew])
  func aFailedReadIsAnErrorAndNotNothing(call: FaultInjection.Call) throws {
    let garage = directory.garage()
    try garage.park(Pet(1))
    _ = try garage.retrieveAll(Pet.self)
    let path = try garage.lmdb.environment.directory
    FaultInjection.with(.directory(path), .init(call, returns: EIO, count: .max)) {
      #expect(throws: GarageError.self) { try garage.retrieveAll(Pet.self, withStatus: .notSynced) }
      guard call != .cursorGet else { return }
      #expect(throws: GarageError.self) { try garage.delete(Pet(1)) }
    }
    #expect(try garage.retrieveAll(Pet.self).count == 1)
  }

  @Test func aFullMapGrows() throws {
    let garage = directory.garage(mapSize: 1 << 20)
    let text = String(repeating: "x", count: 10_000)
    for number in 0..<40 { try garage.parkAll((0..<20).map { Pet(number * 20 + $0, text) }) }
    #expect(try garage.retrieveAll(Pet.self).count == 800)
  }

  @Test func aStoreThatCannotBeOpenedSaysWhyEachTime() throws {
    try directory.make()
    let file = directory.url.appendingPathComponent("file")
    try Data("x".utf8).write(to: file)
    let garage = Garage(with: [PersistentStoreDescription(url: file)])
    var reported: (any Error)?
    garage.loadPersistentStores { _, error in reported = error }
    #expect(reported is GarageError)
    for _ in 0..<2 { #expect(failure { try garage.park(Pet(1)) }?.code == .invalidStore) }
    try FileManager.default.removeItem(at: file)
    try garage.park(Pet(1))
  }

  @Test func descriptionsAreChecked() throws {
    var errors: [Bool] = []
    Garage(with: [.inMemory, .inMemory]).loadPersistentStores { errors.append($1 != nil) }
    #expect(errors == [false, true])
    let small = PersistentStoreDescription(url: directory.url)
    small.mapSize = 1
    let nowhere = PersistentStoreDescription.inMemory
    nowhere.type = .durable
    for description in [[], [small], [nowhere]] {
      #expect(throws: GarageError.self) { try Garage(with: description).park(Pet(1)) }
    }
  }

  @Test func aNamedGarageIsInTheDataDirectoryOrInMemory() throws {
    let description = Garage.makePersistentStoreDescription("Folder/Main.garage")
    let url = try #require(description.url)
    #expect(url.pathComponents.suffix(2) == ["Folder", "Main.garage"])
    #expect(url.path.contains(ProcessInfo.processInfo.processName))
    description.type = .inMemory
    let garage = Garage(with: [description])
    try garage.park(Pet(1))
    #expect(try garage.retrieveAll(Pet.self).count == 1)
    #expect(try Garage(with: [description]).retrieveAll(Pet.self).isEmpty)
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test func aClosedGarageRefuses() throws {
    let garage = directory.garage()
    try garage.park(Pet(1))
    garage.close()
    garage.close()
    #expect(failure { try garage.park(Pet(2)) }?.code == .closed)
    #expect(failure { try garage.retrieveAll(Pet.self) }?.code == .closed)
    #expect(failure { try garage.save() }?.code == .closed)
    #expect(try directory.garage().retrieveAll(Pet.self).count == 1)
  }

  @Test func anErrorsTextSaysWhatIsBeneath() {
    struct Beneath: Error {}
    let error = GarageError(.undecodable, "It cannot be read.", underlying: Beneath())
    #expect("\(error)" == "undecodable: It cannot be read. (Beneath())")
    #expect(error.localizedDescription == "It cannot be read.")
  }

  /// A power cut would otherwise leave objects in a directory that is not on the disk.
  @Test func theDirectoriesAreOnTheDisk() throws {
    try directory.make()
    let root = try directory.opened().path
    let durable = Guarded<Set<String>>([])
    // Fails nothing, and notes the names in each synchronized directory.
    let rule = FaultInjection.Rule(.fsync, returns: EIO, count: .max) { path in
      let names = path.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0) } ?? []
      for name in names { durable { _ = $0.insert("\(path ?? "")/\(name)") } }
      return false
    }
    let garage = root + "/data/app/People.garage"
    try FaultInjection.with(.directory(root), rule) {
      try Garage(with: [PersistentStoreDescription(url: URL(fileURLWithPath: garage))]).park(Pet(1))
    }
    #expect(durable.current.isSuperset(of: [root + "/data", root + "/data/app", garage, garage + "/data.mdb"]))
  }
}
