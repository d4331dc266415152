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

  @Test(arguments: [FaultInjection.Call.put, .txnCommit, .txnBegin])
  func aFailedParkingParksNothing(call: FaultInjection.Call) throws {
    let garage = directory.garage()
    try garage.park(Pet(1, "old"))
    try failing(call, garage) {
      let error = #expect(throws: GarageError.self) { try garage.parkAll([Pet(1, "new"), Pet(2)]) }
      #expect(error?.code == .storageFailed)
      #expect(throws: GarageError.self) { try garage.withAutosaveDisabled { try garage.park(Pet(3)) } }
    }
    #expect(try garage.retrieveAll(Pet.self).map(\.name) == ["old"])
    try garage.park(Pet(2))
    #expect(try directory.garage().retrieveAll(Pet.self).count == 2)
  }

  @Test func aFailedSaveKeepsWhatWaits() throws {
    let garage = directory.garage()
    garage.isAutosaveEnabled = false
    try garage.parkAll([Pet(1), Pet(2)])
    try failing(.txnCommit, garage) {
      #expect(throws: GarageError.self) { try garage.save() }
      let waiting = try garage.retrieveAll(Pet.self)
      #expect(waiting.count == 2)
      garage.isAutosaveEnabled = true
      #expect(throws: GarageError.self) { try garage.park(Pet(3)) }
    }
    #expect(try garage.retrieveAll(Pet.self).map(\.number) == [1, 2])
    #expect(try directory.garage().retrieveAll(Pet.self).isEmpty)
    try garage.save()
    #expect(try directory.garage().retrieveAll(Pet.self).count == 2)
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

  var options: Environment.Options {
    var options = Environment.Options()
    options.mapSize = 1 << 26
    options.maxDatabases = 3
    return options
  }

  func set(_ key: [UInt8], _ value: [UInt8], in database: Database, _ environment: Environment) throws {
    let transaction = try environment.beginWrite()
    try key.withUnsafeBytes { key in try value.withUnsafeBytes { try transaction.put($0, forKey: key, in: database) } }
    try transaction.commit()
  }

  // MARK: - Damage

  static let damage = [
    "", "{", "nonsense", "[1]", "null", "{\"number\":1}", "{\"number\":\"x\",\"name\":\"\"}",
    "{\"number\":1e99,\"name\":\"\"}",
    "{\"number\":1,\"name\":\"a\",\"name\":\"b\"}", "{\"number\":1,\"name\":\"\\ud800\"}",
    "{\"number\":1,\"name\":\"a\"} x",
    String(repeating: "[", count: 100_000), String(repeating: "{\"a\":", count: 100_000), "\"\\", "-", "01", "1.",
    "tru",
    "{\"number\":1,\"name\":\"\u{1}\"}",
  ]

  @Test(arguments: damage)
  func damagedContentIsAnErrorThatNamesTheObject(text: String) throws {
    let garage = directory.garage()
    try garage.put(text, type: Pet.self, "1")
    let error = failure { try garage.retrieve(Pet.self, identifier: 1) }
    #expect(error?.description.contains("Pet") == true)
    #expect(failure { try garage.retrieveAll(Pet.self) } == error)
    #expect(try garage.content(Pet.self, "1") == text)
    try garage.park(Pet(1, "new"))
    #expect(try garage.retrieve(Pet.self, identifier: 1)?.name == "new")
  }

  @Test func contentThatIsNotTextIsAnError() throws {
    let garage = Garage(with: [.inMemory])
    try garage.put([0x22, 0xff, 0xfe, 0x22], type: Pet.self, "1")
    #expect(throws: GarageError.self) { try garage.retrieve(Pet.self, identifier: 1) }
    try garage.put(Array("{\"number\":1,\"name\":\"".utf8) + [0xc3] + Array("\"}".utf8), type: Pet.self, "1")
    #expect(throws: GarageError.self) { try garage.retrieve(Pet.self, identifier: 1) }
  }

  @Test(arguments: [
    #"{"gs_identifier":"Sam","gs_type":"GarageStorageTests.Pet"}"#,
    #"{"gs_identifier":"Sam","gs_type":"Foundation.NSObject"}"#,
    #"{"gs_identifier":"Sam","gs_type":""}"#, #"{"gs_identifier":7,"gs_type":"GarageStorageTests.Person"}"#,
    #"{"gs_identifier":"Sam"}"#, #"["Sam"]"#, #""Sam""#, "7",
  ])
  func aReferenceToSomethingElseIsAnErrorOrNothing(reference: String) throws {
    let garage = directory.garage()
    for type in ["GarageStorageTests.Pet", "Foundation.NSObject", ""] {
      var changes = PendingChanges()
      changes.park(ObjectKey(type: type, identifier: "Sam"), Array("{}".utf8), isEncrypted: false, nil)
      try garage.change(changes)
    }
    try garage.put(
      """
      {"name":"Nick","age":1,"birthdate":0,"importantDates":[],"siblings":[],"brother":\(reference)}
      """, type: Person.self, "Nick")
    #expect(failure { try garage.retrieve(Person.self, identifier: "Nick") } != nil)
  }

  @Test(arguments: 0..<200)
  func randomDamageNeverCrashes(seed: Int) throws {
    var random = TestRandom(state: UInt64(seed))
    let garage = Garage(with: [.inMemory])
    try garage.park(makeSam())
    var content = Array(try #require(try garage.content(Person.self, "Sam")).utf8)
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let place = Int.random(in: 0..<content.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: content[place] = UInt8.random(in: 0...255, using: &random)
      case 1: content.remove(at: place)
      default: content.insert(content[Int.random(in: 0..<content.count, using: &random)], at: place)
      }
    }
    try garage.put(content, type: Person.self, "Sam")
    do {
      _ = try garage.retrieve(Person.self, identifier: "Sam")
    } catch {
      #expect(GarageError(error) != nil, "\(error)")
    }
  }

  struct TestRandom: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ state >> 29
    }
  }

  @Test(
    arguments: [[], [1], [1, 0, 9, 0], [2, 0, 0, 0, 123], [1, 2, 0, 0, 255, 255, 255, 255, 1, 0, 0, 0, 65]] as [[UInt8]]
  )
  func aDamagedRecordIsAnErrorAndCanBeReplaced(bytes: [UInt8]) throws {
    let garage = directory.garage()
    try garage.parkAll([Pet(1, "old", .syncing), Pet(2)])
    let environment = try garage.lmdb.environment
    let objects = try environment.openDatabase(named: "objects")
    let key = ObjectKey(TypeIdentity.of(Pet.self), "1")
    try set(key.bytes, bytes, in: objects, environment)
    #expect(throws: GarageError.self) { try garage.retrieve(Pet.self, identifier: 1) }
    #expect(throws: GarageError.self) { try garage.retrieveAll(Pet.self) }
    #expect(try garage.retrieve(Pet.self, identifier: 2) != nil)
    try garage.park(Pet(1, "new", .synced))
    #expect(try garage.retrieveAll(Pet.self).count == 2)
    #expect(try garage.retrieveAll(Pet.self, withStatus: .syncing).isEmpty)
  }

  @Test func whatIsBeneathAnErrorIsInItsDescription() {
    struct Beneath: Error {}
    let error = GarageError(.undecodable, "It cannot be read.", underlying: Beneath())
    #expect("\(error)" == "\(error.code): It cannot be read. (Beneath())")
    #expect("\(GarageError(.undecodable, "It cannot be read."))" == "\(error.code): It cannot be read.")
  }
}
