import Foundation
import Platform
import Testing

@testable import GarageStorage

/// Types that get an identifier, or whose owners do: inline values become separate objects.
@Suite struct NestedMigrationTests {
  struct OldTenant: Codable, Identifiable {
    var id: String
  }

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

  static let sam = #"""
    {"id":"Sam","home":{"id":"h","street":{"id":"s","length":7},"gs_syncStatus":2},
    "others":[{"id":"known","street":{"id":"s","length":8}}],
    "office":{"gs_identifier":"kGSAnonymousObject","gs_syncStatus":3,
    "kGSAnonymousDataKey":"{\"id\":\"o\",\"street\":{\"id\":\"t\",\"length\":1}}"},
    "former":{"id":"f","street":{"id":"s","length":7}}}
    """#
  static let zoe = #"{"id":"Zoe","home":{"id":"h","street":{"id":"s","length":9}},"others":[]}"#

  @Test(arguments: Kind.allCases, [true, false])
  func whatWasInPlaceIsParkedOnItsOwn(kind: Kind, isEncrypted: Bool) throws {
    try kind.with { garage in
      if isEncrypted { garage.dataEncryptionDelegate = EncryptionTests.Reversing() }
      try garage.park(Flat(id: "known", street: Street(id: "k", length: 70)))
      for (text, identifier) in [(Self.sam, "Sam"), (Self.zoe, "Zoe")] {
        let content = try garage.content(of: try JSONParser.value(of: Array(text.utf8)))
        try garage.put(content.bytes, isEncrypted: content.isEncrypted, type: OldTenant.self, identifier)
      }
      try garage.migrateAll(fromOldClassName: "OldTenant", to: Tenant.self)

      let sam = try #require(try garage.retrieve(Tenant.self, identifier: "Sam"))
      #expect(sam.home.id == "h" && sam.home.street.length == 7 && sam.home.syncStatus == .syncing)
      #expect(sam.office?.id == "o" && sam.office?.street.length == 1 && sam.office?.syncStatus == .synced)
      #expect(sam.former?.id == "f" && sam.former?.street.length == 7)
      // One that was already parked, and the first of the others.
      #expect(sam.others.map(\.id) == ["known"] && sam.others.first?.street.length == 70)
      #expect(try garage.retrieve(Tenant.self, identifier: "Zoe")?.home.street.length == 7)

      #expect(try garage.retrieveAll(Flat.self).map(\.id) == ["f", "h", "known", "o"])
      #expect(try garage.retrieveAll(Street.self).map(\.id) == ["k", "s", "t"])
      #expect(try garage.retrieveAll(Flat.self, withStatus: .synced).map(\.id) == ["o"])
      #expect(try garage.retrieveAll(OldTenant.self).isEmpty)
    }
  }

  /// Even an unreadable object is not replaced by an inline one.
  @Test func whatIsParkedAlreadyIsNotTouched() throws {
    let garage = Garage(with: [.inMemory])
    try garage.put("{", type: Flat.self, "h")
    try garage.put(Self.zoe, type: OldTenant.self, "Zoe")
    try garage.migrateAll(fromOldClassName: "OldTenant", to: Tenant.self)
    #expect(try garage.content(Flat.self, "h") == "{")
    #expect(try garage.retrieveAll(Street.self).isEmpty)
  }
}
