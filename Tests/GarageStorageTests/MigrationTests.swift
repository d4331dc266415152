import Foundation
import Platform
import Testing

@testable import GarageStorage

@Suite struct MigrationTests {
  let garage = Garage(with: [.inMemory])

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

  final class OtherPerson: Codable, Identifiable {
    var id: String
    private enum CodingKeys: String, CodingKey { case id = "name" }
  }

  struct Owned: Codable, Identifiable {
    var id: String
    var owner: OldPerson
  }

  private func put(_ json: String, _ type: Any.Type, _ identifier: String, in garage: Garage) throws {
    let content = try garage.content(of: try JSONParser.value(of: Array(json.utf8)))
    let key = ObjectKey(TypeIdentity.of(type), identifier)
    try garage.put(content.bytes, isEncrypted: content.isEncrypted, key)
  }

  @Test(arguments: Kind.allCases, [true, false])
  func objectsGetTheNewType(kind: Kind, autosaves: Bool) throws {
    try kind.with { garage in
      let nick = OldPerson("Nick", nil, .syncing)
      try garage.parkAll([OldPerson("Sam", nick, .synced), nick])
      try garage.park(Owned(id: "dog", owner: nick))
      garage.isAutosaveEnabled = autosaves
      try garage.migrateAll(fromOldClassName: "OldPerson", to: NewPerson.self)
      try garage.save()
      #expect(try garage.retrieveAll(OldPerson.self).isEmpty)
      let sam = try #require(try garage.retrieve(NewPerson.self, identifier: "Sam"))
      #expect(sam.best?.id == "Nick" && sam.birthdate.timeIntervalSinceReferenceDate == 0.5)
      #expect(sam.syncStatus == .synced && sam.best?.syncStatus == .syncing)
      #expect(try garage.retrieveAll(NewPerson.self, withStatus: .syncing).map(\.id) == ["Nick"])
      // References of other objects move as well, and only once: new objects may reuse the old name.
      try garage.park(OldPerson("Nick"))
      try garage.migrateAll(fromOldClassName: "OldPerson", to: OtherPerson.self)
      try garage.save()
      let reference = #"{"gs_identifier":"Nick","gs_type":"\#(TypeIdentity.of(NewPerson.self).name)"}"#
      #expect(try garage.content(Owned.self, "dog") == #"{"id":"dog","owner":\#(reference)}"#)
      try garage.migrateAll(from: OldPerson.self, to: NewPerson.self)
      try garage.migrateAll(fromOldClassName: "Nothing", to: NewPerson.self)
      #expect(try garage.retrieveAll(NewPerson.self).count == 2)
    }
  }

  /// A newer object of the same identifier, and an object that cannot be read.
  @Test(arguments: Kind.allCases)
  func aFailureLeavesEverythingAsItWas(kind: Kind) throws {
    try kind.with { garage in
      func expectFailure(_ code: GarageError.Code, old: Int, new: Int) throws {
        #expect(failure { try garage.migrateAll(from: OldPerson.self, to: NewPerson.self) }?.code == code)
        #expect(try garage.read { try $0.records(ofType: TypeIdentity.of(OldPerson.self).name).count } == old)
        #expect(try garage.retrieveAll(NewPerson.self).count == new)
      }
      try garage.parkAll([OldPerson("Nick"), OldPerson("Sam")])
      try garage.put(#"{"name":"Sam","birthdate":7}"#, type: NewPerson.self, "Sam")
      try expectFailure(.migrationConflict, old: 2, new: 1)
      try garage.deleteAll(NewPerson.self)
      try garage.put(#"{"name":"Zoe"}"#, type: OldPerson.self, "Zoe")
      try expectFailure(.undecodable, old: 3, new: 0)
      // Two types of that name.
      try garage.put(Array(#"{"name":"x"}"#.utf8), ObjectKey(type: "Other.OldPerson", identifier: "x"))
      let error = failure { try garage.migrateAll(fromOldClassName: "OldPerson", to: OtherPerson.self) }
      #expect(error?.code == .migrationConflict)
      try garage.migrateAll(fromOldClassName: "Other.OldPerson", to: OtherPerson.self)
      #expect(try garage.retrieveAll(OtherPerson.self).map(\.id) == ["x"])
    }
  }

  @Test func aMigrationNeedsTheDelegateOfWhatItLooksThrough() throws {
    try garage.park(OldPerson("Sam"))
    garage.dataEncryptionDelegate = Reversing()
    try garage.park(Pet(1))
    garage.dataEncryptionDelegate = nil
    let error = failure { try garage.migrateAll(from: OldPerson.self, to: NewPerson.self) }
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
    var others: [Home]?
  }

  @Test func anAnonymousObjectOfTheOriginalIsRead() throws {
    try garage.put(
      #"""
      {"name":"Sam","home":{"gs_identifier":"kGSAnonymousObject","gs_type":"MCAddress",
      "kGSAnonymousDataKey":"{\"city\":\"Boston\"}","gs_syncStatus":3}}
      """#, type: Owner.self, "Sam")
    func found() throws -> Owner { try #require(try garage.retrieve(Owner.self, identifier: "Sam")) }
    let sam = try found()
    #expect(sam.home == Home(city: "Boston", syncStatus: .synced))
    try garage.park(sam)
    #expect(try garage.content(Owner.self, "Sam") == #"{"home":{"city":"Boston","gs_syncStatus":3},"name":"Sam"}"#)
    // Values in place keep their status.
    sam.others = [Home(city: "Oslo", syncStatus: .notSynced), Home(city: "Bonn", syncStatus: .syncing)]
    try garage.park(sam)
    #expect(try found().home == sam.home && found().others == sam.others)
    sam.home = nil
    try garage.park(sam)
    #expect(try found().home == nil)
    try garage.put(#"{"name":"Sam"}"#, type: Owner.self, "Sam")
    #expect(try found().home == nil)
    // Other coders read and write it as the value.
    let text = #"{"home":{"city":"Rome"},"name":"Sam"}"#
    let owner = try JSONDecoder().decode(Owner.self, from: Data(text.utf8))
    #expect(owner.home?.city == "Rome")
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(owner), as: UTF8.self) == text)
  }

  // MARK: - Objects that are found by their content

  struct OldAddress: Codable, Hashable, Syncable {
    var city: String
    var zip: String
    var syncStatus = SyncStatus.undetermined
    private enum CodingKeys: CodingKey { case city, zip }
  }

  struct NewAddress: Codable, Hashable, Syncable {
    var city: String
    var syncStatus = SyncStatus.undetermined
    private enum CodingKeys: CodingKey { case city }
  }

  @Test(arguments: Kind.allCases, [true, false])
  func whatIsFoundByItsContentIsFoundByTheNewOne(kind: Kind, autosaves: Bool) throws {
    try kind.with { garage in
      func migrate() throws { try garage.migrateAll(fromOldClassName: "OldAddress", to: NewAddress.self) }
      func cities() throws -> Set<String> { Set(try garage.retrieveAll(NewAddress.self).map(\.city)) }
      try garage.parkAll([
        OldAddress(city: "Rome", zip: "1", syncStatus: .synced), OldAddress(city: "Oslo", zip: "2"),
      ])
      // Two objects do not become one.
      try garage.park(OldAddress(city: "Rome", zip: "3"))
      #expect(failure { try migrate() }?.code == .migrationConflict)
      try garage.delete(OldAddress(city: "Rome", zip: "3"))
      let rome = NewAddress(city: "Rome")
      try garage.park(rome)
      #expect(failure { try migrate() }?.code == .migrationConflict)
      #expect(try garage.retrieveAll(OldAddress.self).count == 2 && cities() == ["Rome"])
      try garage.delete(rome)

      garage.isAutosaveEnabled = autosaves
      try migrate()
      try garage.save()
      #expect(try garage.retrieveAll(OldAddress.self).isEmpty && cities() == ["Rome", "Oslo"])
      #expect(try garage.retrieve(NewAddress.self, identifier: garage.identifier(for: rome))?.city == "Rome")
      #expect(try garage.retrieveAll(NewAddress.self, withStatus: .synced).map(\.city) == ["Rome"])
      try garage.setSyncStatus(.notSynced, for: rome)
      #expect(try garage.retrieveAll(NewAddress.self, withStatus: .synced).isEmpty)
      try garage.park(rome)
      #expect(try cities().count == 2)
      try garage.delete(rome)
      #expect(try cities() == ["Oslo"])
    }
  }

  // MARK: - Types that get an identifier, or whose owners do

  struct OldTenant: Codable, Identifiable { var id: String }

  struct Tenant: Codable, Identifiable {
    var id: String
    var home: Flat
    var others: [Flat]
    @Migratable var office: Flat?
    @Reference var former: Flat?
  }

  struct Flat: Codable, Identifiable, Syncable {
    var id: String
    var street: Street
    var syncStatus = SyncStatus.undetermined
    private enum CodingKeys: CodingKey { case id, street }
  }

  struct Street: Codable, Identifiable {
    var id: String
    var length: Int
  }

  @Test(arguments: Kind.allCases, [true, false])
  func whatWasInPlaceIsParkedOnItsOwn(kind: Kind, isEncrypted: Bool) throws {
    try kind.with { garage in
      if isEncrypted { garage.dataEncryptionDelegate = Reversing() }
      // A migration leaves parked objects alone, even unreadable ones.
      try garage.park(Flat(id: "known", street: Street(id: "k", length: 70)))
      if !isEncrypted { try garage.put("{", type: Street.self, "t") }
      try put(
        #"""
        {"id":"Sam","home":{"id":"h","street":{"id":"s","length":7},"gs_syncStatus":2},
        "others":[{"id":"known","street":{"id":"s","length":8}}],
        "office":{"gs_identifier":"kGSAnonymousObject","gs_syncStatus":3,
        "kGSAnonymousDataKey":"{\"id\":\"o\",\"street\":{\"id\":\"t\",\"length\":1}}"},
        "former":{"id":"f","street":{"id":"s","length":9}}}
        """#, OldTenant.self, "Sam", in: garage)
      try garage.migrateAll(fromOldClassName: "OldTenant", to: Tenant.self)
      if !isEncrypted { #expect(try garage.content(Street.self, "t") == "{") }
      try garage.park(Street(id: "t", length: 1))

      let sam = try #require(try garage.retrieve(Tenant.self, identifier: "Sam"))
      #expect(sam.home.id == "h" && sam.home.street.length == 7 && sam.home.syncStatus == .syncing)
      #expect(sam.office?.id == "o" && sam.office?.street.length == 1 && sam.office?.syncStatus == .synced)
      // Of several with one identifier, the first is parked.
      #expect(sam.former?.id == "f" && sam.former?.street.length == 7)
      #expect(sam.others.map(\.id) == ["known"] && sam.others.first?.street.length == 70)
      #expect(try garage.retrieveAll(Flat.self).map(\.id) == ["f", "h", "known", "o"])
      #expect(try garage.retrieveAll(Street.self).map(\.id) == ["k", "s", "t"])
      #expect(try garage.retrieveAll(Flat.self, withStatus: .synced).map(\.id) == ["o"])
      #expect(try garage.retrieveAll(OldTenant.self).isEmpty)
    }
  }
}
