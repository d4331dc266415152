import Foundation
import LMDB
import TestSupport
import Testing

@testable import GarageStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

@Suite struct FailureTests {
  let directory = GarageDirectory()

  /// Fails a call on the garage's files while `body` runs.
  func failing(
    _ call: FaultInjection.Call, status: Int32 = ENOSPC, _ garage: Garage, _ body: () throws -> Void
  ) throws {
    let path = try garage.lmdb.environment.directory
    try FaultInjection.with(.directory(path), .init(call, returns: status, count: .max), perform: body)
  }

  @Test(arguments: [FaultInjection.Call.get, .cursorGet, .txnRenew])
  func aFailedReadIsAnErrorAndNotNothing(call: FaultInjection.Call) throws {
    let garage = directory.garage()
    try garage.park(Pet(1))
    _ = try garage.retrieveAll(Pet.self)
    try failing(call, status: EIO, garage) {
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
    #expect(try garage.lmdb.environment.info().mapSize > 8 << 20)
  }

  @Test func aStoreThatCannotBeOpenedSaysWhyEachTime() throws {
    let file = directory.url.appendingPathComponent("file")
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    try Data("x".utf8).write(to: file)
    let garage = Garage(with: [PersistentStoreDescription(url: file)])
    var reported: (any Error)?
    garage.loadPersistentStores { _, error in reported = error }
    #expect(reported is GarageError)
    #expect(throws: GarageError.self) { try garage.park(Pet(1)) }
    #expect(throws: GarageError.self) { try garage.retrieveAll(Pet.self) }
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
    #expect(throws: GarageError.self) { try garage.park(Pet(2)) }
    #expect(throws: GarageError.self) { try garage.retrieveAll(Pet.self) }
    #expect(throws: GarageError.self) { try garage.save() }
    #expect(try directory.garage().retrieveAll(Pet.self).count == 1)
  }

  @Test func whatIsBeneathAnErrorIsInItsDescription() {
    struct Beneath: Error {}
    let error = GarageError(.undecodable, "It cannot be read.", underlying: Beneath())
    #expect("\(error)" == "\(error.code): It cannot be read. (Beneath())")
    #expect("\(GarageError(.undecodable, "It cannot be read."))" == "\(error.code): It cannot be read.")
  }
}
