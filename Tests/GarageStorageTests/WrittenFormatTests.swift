import FormatFixtures
import Foundation
import Testing

@testable import GarageStorage

/// A release's files are readable, and this version writes the same.
@Suite struct WrittenFormatTests {
  let directory = GarageDirectory()

  /// Returns a garage that can decrypt its content.
  private func filled(_ origin: FixtureOrigin) throws -> Garage {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: false)
    switch origin {
    case .release(let version): try FixtureArchive.unpack("garage", of: version, into: directory.url)
    case .current: try GarageFixture.write(to: directory.url).close()
    }
    return opened()
  }

  private func opened() -> Garage {
    let garage = directory.garage()
    garage.dataEncryptionDelegate = FixtureCipher()
    return garage
  }

  @Test(arguments: FixtureOrigin.all) func everythingIsRead(_ origin: FixtureOrigin) throws {
    let garage = try filled(origin)
    let authors = try garage.retrieveAll(FixtureAuthor.self)
    #expect(Set(authors.map(\.name)) == ["Ann", "Bob", GarageFixture.longName])
    let ann = try #require(try garage.retrieve(FixtureAuthor.self, identifier: "Ann"))
    #expect(ann.born == GarageFixture.born && ann.syncStatus == .syncing)
    #expect(ann.books.map(\.number) == [1, 2] && ann.books.map(\.title) == ["First", "Second"])
    // From one retrieval, so the same instance.
    let (first, second) = (try #require(ann.books.first), try #require(ann.books.last))
    #expect(first.author === ann)
    #expect(second.author?.name == "Bob")
    let bob = try #require(try garage.retrieve(FixtureAuthor.self, identifier: "Bob"))
    #expect(bob.born == Date(timeIntervalSince1970: -1_000_000_000) && bob.books.isEmpty)
    let long = try #require(try garage.retrieve(FixtureAuthor.self, identifier: GarageFixture.longName))
    #expect(long.born == GarageFixture.born && long.syncStatus == .undetermined)
    let numbers = try garage.retrieveAll(FixtureBook.self).map(\.number)
    #expect(Set(numbers) == [1, 2])
    #expect(try garage.retrieve(FixtureBook.self, identifier: 3) == nil)
    let ticket = GarageFixture.ticket
    #expect(try garage.retrieve(FixtureTicket.self, identifier: ticket.id) == ticket)
    #expect(try garage.retrieveAll(FixtureShelf.self) == [GarageFixture.shelf])
    #expect(try garage.retrieve(FixtureSecret.self, identifier: "safe") == GarageFixture.secret)
    let statuses: [(SyncStatus, [String])] = [
      (.undetermined, [GarageFixture.longName]), (.notSynced, []), (.syncing, ["Ann"]), (.synced, ["Bob"]),
    ]
    for (status, names) in statuses {
      #expect(try garage.retrieveAll(FixtureAuthor.self, withStatus: status).map(\.name) == names, "\(status)")
    }
  }

  @Test(arguments: FixtureOrigin.all) func whatIsEncryptedStaysSo(_ origin: FixtureOrigin) throws {
    let garage = try filled(origin)
    #expect(try garage.content(FixtureSecret.self, "safe")?.contains("1234") == false)
    garage.dataEncryptionDelegate = nil
    #expect(failure { try garage.retrieve(FixtureSecret.self, identifier: "safe") }?.code == .missingEncryptionDelegate)
    #expect(try garage.retrieveAll(FixtureShelf.self) == [GarageFixture.shelf])
  }

  @Test(arguments: FixtureOrigin.all) func theGarageGoesOn(_ origin: FixtureOrigin) throws {
    let garage = try filled(origin)
    let bob = try #require(try garage.retrieve(FixtureAuthor.self, identifier: "Bob"))
    bob.born = GarageFixture.born
    try garage.park(bob)
    try garage.setSyncStatus(.notSynced, for: bob)
    try garage.delete(GarageFixture.shelf)
    garage.close()
    let again = opened()
    #expect(try again.retrieve(FixtureAuthor.self, identifier: "Bob")?.born == GarageFixture.born)
    #expect(try again.retrieveAll(FixtureAuthor.self, withStatus: .notSynced).map(\.name) == ["Bob"])
    #expect(try again.retrieveAll(FixtureAuthor.self).count == 3)
    #expect(try again.retrieveAll(FixtureShelf.self).isEmpty)
    again.close()
  }
}
