import Foundation
import Platform
import Testing

@testable import GarageStorage

@Suite struct MigrationTests {
  class OldPerson: Mappable, Syncable {
    var id: String { name }
    var name = ""
    var birthdate = Date(timeIntervalSinceReferenceDate: 0.5)
    var best: OldPerson?
    var syncStatus = SyncStatus.undetermined

    private enum CodingKeys: CodingKey { case name, birthdate, best }

    convenience init(_ name: String, _ best: OldPerson? = nil, _ status: SyncStatus = .undetermined) {
      self.init()
      self.name = name
      self.best = best
      syncStatus = status
    }
  }

  final class NewPerson: Codable, Identifiable, Syncable {
    var id: String
    var birthdate: Date
    var best: NewPerson?
    var syncStatus = SyncStatus.undetermined

    private enum CodingKeys: String, CodingKey { case id = "name", birthdate, best }
  }

  struct House: Codable, Identifiable {
    var id: String
    var owner: NewPerson
  }

  struct OldHouse: Codable, Identifiable {
    var id: String
    var owner: OldPerson
  }

  @Test(arguments: Kind.allCases, [true, false])
  func objectsGetTheNewType(kind: Kind, autosaves: Bool) throws {
    try kind.with { garage in
      let nick = OldPerson("Nick", nil, .syncing)
      try garage.parkAll([OldPerson("Sam", nick, .synced), nick])
      try garage.park(OldHouse(id: "h", owner: nick))
      garage.isAutosaveEnabled = autosaves
      try garage.migrateAll(
        fromOldClassName: "OldPerson", to: NewPerson.self)
      try garage.save()

      #expect(try garage.retrieveAll(OldPerson.self).isEmpty)
      let sam = try #require(try garage.retrieve(NewPerson.self, identifier: "Sam"))
      #expect(sam.best?.id == "Nick")
      #expect(sam.birthdate.timeIntervalSinceReferenceDate == 0.5)
      #expect(sam.syncStatus == .synced && sam.best?.syncStatus == .syncing)
      #expect(try garage.retrieveAll(NewPerson.self, withStatus: .syncing).map(\.id) == ["Nick"])
      let json = try #require(try garage.content(NewPerson.self, "Sam"))
      #expect(json.contains("MigrationTests.NewPerson"))

      // References by the old name still resolve.
      try garage.migrateAll(fromOldClassName: "OldHouse", to: House.self)
      #expect(try garage.retrieve(House.self, identifier: "h")?.owner.id == "Nick")

      try garage.migrateAll(from: OldPerson.self, to: NewPerson.self)
      try garage.migrateAll(fromOldClassName: "Nothing", to: NewPerson.self)
      #expect(try garage.retrieveAll(NewPerson.self).count == 2)
    }
  }

  @Test(arguments: Kind.allCases)
  func nothingNewerIsOverwritten(kind: Kind) throws {
    try kind.with { garage in
      try garage.parkAll([OldPerson("Nick"), OldPerson("Sam")])
      try garage.put(#"{"name":"Sam","birthdate":7}"#, type: NewPerson.self, "Sam")
      let error = #expect(throws: GarageError.self) { try garage.migrateAll(from: OldPerson.self, to: NewPerson.self) }
      #expect(error?.code == .migrationConflict)
      #expect(try garage.retrieveAll(OldPerson.self).count == 2)
      #expect(try garage.retrieveAll(NewPerson.self).count == 1)
    }
  }

  @Test(arguments: Kind.allCases)
  func whatCannotBeReadLeavesEverythingAsItWas(kind: Kind) throws {
    try kind.with { garage in
      try garage.parkAll([OldPerson("Nick"), OldPerson("Sam")])
      try garage.put(#"{"name":"Zoe"}"#, type: OldPerson.self, "Zoe")
      #expect(failure { try garage.migrateAll(from: OldPerson.self, to: NewPerson.self) }?.code == .undecodable)
      #expect(try garage.content(OldPerson.self, "Zoe") != nil)
      #expect(try garage.retrieve(OldPerson.self, identifier: "Sam") != nil)
      #expect(try garage.retrieveAll(NewPerson.self).isEmpty)
    }
  }

  @Test func aNameOfTwoTypesIsAnError() throws {
    let garage = Garage(with: [.inMemory])
    for type in ["A.Person", "B.Person"] {
      var changes = PendingChanges()
      changes.park(
        ObjectKey(type: type, identifier: "x"), Array(#"{"name":"x","birthdate":0}"#.utf8), isEncrypted: false, nil)
      try garage.change(changes)
    }
    #expect(throws: GarageError.self) { try garage.migrateAll(fromOldClassName: "Person", to: NewPerson.self) }
    try garage.migrateAll(fromOldClassName: "A.Person", to: NewPerson.self)
    #expect(try garage.retrieveAll(NewPerson.self).count == 1)
  }

  struct Dog: Codable, Identifiable {
    var id: String
    var owner: NewPerson
  }

  struct Cat: Codable, Identifiable {
    var id: String
    var owner: OtherPerson
  }

  final class OtherPerson: Codable, Identifiable {
    var id: String
    private enum CodingKeys: String, CodingKey { case id = "name" }
  }

  /// New objects reuse a migrated name and are then migrated elsewhere. References must not mix them up.
  @Test(arguments: Kind.allCases, [true, false])
  func aSecondMigrationLeavesTheFirstAlone(kind: Kind, isEncrypted: Bool) throws {
    try kind.with { garage in
      if isEncrypted { garage.dataEncryptionDelegate = EncryptionTests.Reversing() }
      let old = TypeIdentity.of(OldPerson.self).name
      // Objects of other types refer to Sam by his present type, one before each migration.
      try garage.park(OldPerson("Sam", nil, .synced))
      try park("dog", Dog.self, pointingTo: old, "Sam", in: garage)
      try garage.migrateAll(from: OldPerson.self, to: NewPerson.self)

      try garage.park(OldPerson("Sam", nil, .syncing))
      try park("cat", Cat.self, pointingTo: old, "Sam", in: garage)
      #expect(try garage.retrieve(Dog.self, identifier: "dog")?.owner.syncStatus == .synced)
      try garage.migrateAll(from: OldPerson.self, to: OtherPerson.self)

      #expect(try garage.retrieve(Dog.self, identifier: "dog")?.owner.syncStatus == .synced)
      #expect(try garage.retrieve(Cat.self, identifier: "cat")?.owner.id == "Sam")
      #expect(try garage.retrieveAll(OldPerson.self).isEmpty)
      #expect(try garage.content(Dog.self, "dog")?.contains("OldPerson") == false)
    }
  }

  private func park(
    _ id: String, _ type: Any.Type, pointingTo name: String, _ identifier: String, in garage: Garage
  ) throws {
    let text = #"{"id":"\#(id)","owner":{"gs_identifier":"\#(identifier)","gs_type":"\#(name)"}}"#
    let content = try garage.content(of: try JSONParser.value(of: Array(text.utf8)))
    try garage.put(content.bytes, isEncrypted: content.isEncrypted, type: type, id)
  }

  @Test func aMigrationNeedsTheDelegateOfWhatItLooksThrough() throws {
    let garage = Garage(with: [.inMemory])
    try garage.park(OldPerson("Sam"))
    garage.dataEncryptionDelegate = EncryptionTests.Reversing()
    try garage.park(Pet(1))
    garage.dataEncryptionDelegate = nil
    let error = #expect(throws: GarageError.self) { try garage.migrateAll(from: OldPerson.self, to: NewPerson.self) }
    #expect(error?.code == .missingEncryptionDelegate)
    #expect(try garage.retrieveAll(OldPerson.self).count == 1)
  }

  // MARK: - Migratable

  struct Home: Codable, Hashable, Syncable {
    var city: String
    var syncStatus = SyncStatus.undetermined
    private enum CodingKeys: CodingKey { case city }
  }

  final class Owner: Mappable {
    var id: String { name }
    var name = ""
    @Migratable var home: Home?
  }

  @Test func anAnonymousObjectOfTheOriginalIsRead() throws {
    let garage = Garage(with: [.inMemory])
    try garage.put(
      #"""
      {"name":"Sam","home":{"gs_identifier":"kGSAnonymousObject","gs_type":"MCAddress",
      "kGSAnonymousDataKey":"{\"city\":\"Boston\"}","gs_syncStatus":3}}
      """#, type: Owner.self, "Sam")
    let sam = try #require(try garage.retrieve(Owner.self, identifier: "Sam"))
    #expect(sam.home == Home(city: "Boston", syncStatus: .synced))
    try garage.park(sam)
    #expect(try garage.content(Owner.self, "Sam") == #"{"home":{"city":"Boston","gs_syncStatus":3},"name":"Sam"}"#)
    #expect(try garage.retrieve(Owner.self, identifier: "Sam")?.home == Home(city: "Boston", syncStatus: .synced))
    sam.home = nil
    try garage.park(sam)
    #expect(try garage.retrieve(Owner.self, identifier: "Sam")?.home == nil)
    try garage.put(#"{"name":"Sam"}"#, type: Owner.self, "Sam")
    #expect(try garage.retrieve(Owner.self, identifier: "Sam")?.home == nil)
  }

  @Test func otherCodersReadAndWriteIt() throws {
    let owner = try JSONDecoder().decode(Owner.self, from: Data(#"{"name":"Sam","home":{"city":"Rome"}}"#.utf8))
    #expect(owner.home?.city == "Rome")
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(owner), as: UTF8.self) == #"{"home":{"city":"Rome"},"name":"Sam"}"#)
  }

  // MARK: - Objects that are found by their content

  struct OldAddress: Codable, Hashable, Syncable {
    var city: String
    var zip: String
    var syncStatus = SyncStatus.undetermined

    private enum CodingKeys: CodingKey { case city, zip }

    init(_ city: String, _ zip: String, _ status: SyncStatus = .undetermined) {
      self.city = city
      self.zip = zip
      syncStatus = status
    }
  }

  struct NewAddress: Codable, Hashable, Syncable {
    var city: String
    var syncStatus = SyncStatus.undetermined

    private enum CodingKeys: CodingKey { case city }

    init(_ city: String) { self.city = city }
  }

  @Test(arguments: Kind.allCases, [true, false])
  func whatIsFoundByItsContentIsFoundByTheNewOne(kind: Kind, autosaves: Bool) throws {
    try kind.with { garage in
      try garage.parkAll([OldAddress("Rome", "1", .synced), OldAddress("Oslo", "2", .syncing)])
      garage.isAutosaveEnabled = autosaves
      try garage.migrateAll(fromOldClassName: "OldAddress", to: NewAddress.self)
      try garage.save()

      let rome = NewAddress("Rome")
      #expect(try garage.retrieveAll(OldAddress.self).isEmpty)
      #expect(try garage.syncStatus(for: rome) == .synced)
      #expect(try garage.retrieve(NewAddress.self, identifier: garage.identifier(for: rome))?.city == "Rome")
      try garage.setSyncStatus(.notSynced, for: rome)
      #expect(try garage.retrieveAll(NewAddress.self, withStatus: .notSynced).map(\.city) == ["Rome"])
      #expect(try garage.retrieveAll(NewAddress.self, withStatus: .synced).isEmpty)
      try garage.park(rome)
      #expect(try garage.retrieveAll(NewAddress.self).count == 2)
      try garage.delete(rome)
      #expect(try garage.retrieveAll(NewAddress.self).map(\.city) == ["Oslo"])
      #expect(try garage.syncStatus(for: NewAddress("Oslo")) == .syncing)
    }
  }

  @Test(arguments: Kind.allCases)
  func twoObjectsDoNotBecomeOne(kind: Kind) throws {
    try kind.with { garage in
      func migrate() throws { try garage.migrateAll(fromOldClassName: "OldAddress", to: NewAddress.self) }
      try garage.parkAll([OldAddress("Rome", "1"), OldAddress("Rome", "2")])
      #expect(failure { try migrate() }?.code == .migrationConflict)
      #expect(try garage.retrieveAll(OldAddress.self).count == 2)
      #expect(try garage.retrieveAll(NewAddress.self).isEmpty)
      // Also if that one already exists.
      try garage.delete(OldAddress("Rome", "2"))
      try garage.park(NewAddress("Rome"))
      #expect(failure { try migrate() }?.code == .migrationConflict)
      #expect(try garage.retrieveAll(OldAddress.self).count == 1)
      try garage.delete(NewAddress("Rome"))
      try migrate()
      #expect(try garage.retrieveAll(NewAddress.self).map(\.city) == ["Rome"])
    }
  }

  struct OldNumber: Codable, Hashable, Syncable {
    var number: Int
    var syncStatus = SyncStatus.undetermined

    private enum CodingKeys: CodingKey { case number }

    init(_ number: Int, _ status: SyncStatus) {
      self.number = number
      syncStatus = status
    }
  }

  /// Increments whenever it is read.
  struct NewNumber: Codable, Hashable, Syncable {
    var number: Int
    var syncStatus = SyncStatus.undetermined

    private enum CodingKeys: CodingKey { case number }

    init(_ number: Int) { self.number = number }

    init(from decoder: any Decoder) throws {
      number = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .number) + 1
    }
  }

  @Test(arguments: Kind.allCases)
  func anObjectMayGetTheContentThatAnotherOneHad(kind: Kind) throws {
    try kind.with { garage in
      try garage.parkAll([OldNumber(1, .synced), OldNumber(2, .syncing), OldNumber(3, .notSynced)])
      try garage.migrateAll(fromOldClassName: "OldNumber", to: NewNumber.self)
      #expect(try garage.retrieveAll(NewNumber.self).count == 3)
      #expect(try garage.syncStatus(for: NewNumber(2)) == .synced)
      #expect(try garage.syncStatus(for: NewNumber(3)) == .syncing)
      #expect(try garage.syncStatus(for: NewNumber(4)) == .notSynced)
    }
  }
}
