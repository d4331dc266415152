import FormatFixtures
import Foundation
import Testing

@testable import GarageStorage

/// A release's files are readable, and this version writes the same.
@Suite struct WrittenFormatTests {
  let directory = GarageDirectory()

  /// Returns a garage that can decrypt its content.
  private func opened() -> Garage {
    let garage = directory.garage()
    garage.dataEncryptionDelegate = FixtureCipher()
    return garage
  }

  @Test(arguments: FixtureOrigin.all) func everythingIsReadAndTheGarageGoesOn(_ origin: FixtureOrigin) throws {
    try directory.make()
    switch origin {
    case .release(let version): try FixtureArchive.unpack("garage", of: version, into: directory.url)
    case .current: try GarageFixture.write(to: directory.url).close()
    }
    let garage = opened()
    let long = GarageFixture.longName
    let authors = try garage.retrieveAll(FixtureAuthor.self)
    let born = Dictionary(uniqueKeysWithValues: authors.map { ($0.name, $0.born) })
    #expect(
      born == [
        "Ann": GarageFixture.born, "Bob": Date(timeIntervalSince1970: -1_000_000_000), long: GarageFixture.born,
      ])
    let statuses: [(SyncStatus, [String])] = [
      (.undetermined, [long]), (.notSynced, []), (.syncing, ["Ann"]), (.synced, ["Bob"]),
    ]
    for (status, names) in statuses {
      #expect(try garage.retrieveAll(FixtureAuthor.self, withStatus: status).map(\.name) == names, "\(status)")
    }
    let ann = try #require(try garage.retrieve(FixtureAuthor.self, identifier: "Ann"))
    #expect(ann.books.map(\.number) == [1, 2] && ann.books.map(\.title) == ["First", "Second"])
    // From one retrieval, so the same instance.
    #expect(ann.books[0].author === ann && ann.books[1].author?.name == "Bob")
    #expect(Set(try garage.retrieveAll(FixtureBook.self).map(\.number)) == [1, 2])
    let ticket = GarageFixture.ticket
    #expect(try garage.retrieve(FixtureTicket.self, identifier: ticket.id) == ticket)
    #expect(try garage.retrieveAll(FixtureShelf.self) == [GarageFixture.shelf])
    #expect(try garage.retrieve(FixtureSecret.self, identifier: "safe") == GarageFixture.secret)
    garage.dataEncryptionDelegate = nil
    #expect(failure { try garage.retrieve(FixtureSecret.self, identifier: "safe") }?.code == .missingEncryptionDelegate)
    garage.close()

    let changed = opened()
    let bob = try #require(try changed.retrieve(FixtureAuthor.self, identifier: "Bob"))
    bob.born = GarageFixture.born
    try changed.park(bob)
    try changed.setSyncStatus(.notSynced, for: bob)
    try changed.delete(GarageFixture.shelf)
    changed.close()
    let again = opened()
    #expect(try again.retrieve(FixtureAuthor.self, identifier: "Bob")?.born == GarageFixture.born)
    #expect(try again.retrieveAll(FixtureAuthor.self, withStatus: .notSynced).map(\.name) == ["Bob"])
    #expect(try again.retrieveAll(FixtureAuthor.self).count == 3)
    #expect(try again.retrieveAll(FixtureShelf.self).isEmpty)
    again.close()
  }
}
