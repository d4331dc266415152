package import Foundation
package import GarageStorage

/// A garage with objects of every kind. Releases have written it, so its expectations never change.
package enum GarageFixture {
  package static let born = Date(timeIntervalSince1970: 100.25)
  /// Too long to be a key itself.
  package static let longName = String(repeating: "Ångström ", count: 60)
  package static let ticket = FixtureTicket(
    id: UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)), title: "one way", price: 12.5)
  package static let shelf = FixtureShelf(words: ["a", "", "短い"], width: nil)
  package static let secret = FixtureSecret(id: "safe", text: "1234")

  /// Writes it into an empty directory and returns the open garage.
  package static func write(to directory: URL) throws -> Garage {
    let description = PersistentStoreDescription(url: directory)
    description.mapSize = 1 << 26
    let garage = Garage(with: [description])
    let ann = FixtureAuthor("Ann", born: born, .syncing)
    let bob = FixtureAuthor("Bob", born: Date(timeIntervalSince1970: -1_000_000_000), .notSynced)
    let books = [FixtureBook(1, "First"), FixtureBook(2, "Second"), FixtureBook(3, "Third")]
    ann.books = Array(books.prefix(2))
    // A cycle, and a reference out of it.
    books[0].author = ann
    books[1].author = bob
    try garage.parkAll([ann, bob, FixtureAuthor(longName, born: born)])
    try garage.setSyncStatus(.synced, for: bob)
    try garage.park(books[2])
    try garage.delete(books[2])
    try garage.park(ticket)
    try garage.park(shelf)
    // Everything parked from now on is encrypted.
    garage.dataEncryptionDelegate = FixtureCipher()
    try garage.park(secret)
    return garage
  }
}

/// An object with a status, and nested objects that are parked on their own. The files name the type and its module, so
/// neither may be renamed.
package final class FixtureAuthor: Mappable, Syncable {
  package var id: String { name }
  package var name = ""
  package var born = Date(timeIntervalSince1970: 0)
  package var books: [FixtureBook] = []
  package var syncStatus = SyncStatus.undetermined

  private enum CodingKeys: CodingKey {
    case name, born, books
  }

  package init() {}

  convenience init(_ name: String, born: Date, _ status: SyncStatus = .undetermined) {
    self.init()
    self.name = name
    self.born = born
    syncStatus = status
  }
}

package final class FixtureBook: Mappable {
  package var id: Int { number }
  package var number = 0
  package var title = ""
  @Reference package var author: FixtureAuthor?

  package init() {}

  convenience init(_ number: Int, _ title: String) {
    self.init()
    self.number = number
    self.title = title
  }
}

package struct FixtureSecret: Mappable, Equatable, Sendable {
  package var id: String
  package var text: String
}

/// A value without an identifier, identified by its content.
package struct FixtureShelf: Codable, Hashable, Sendable {
  package var words: [String]
  package var width: Int?
}

package struct FixtureTicket: Codable, Identifiable, Equatable, Sendable {
  package var id: UUID
  package var title: String
  package var price: Double
}

/// Not an encryption, but shows whether it was called.
package final class FixtureCipher: DataEncryptionDelegate {
  package init() {}

  package func encrypt(_ data: Data) throws -> String { String(data.base64EncodedString().reversed()) }

  package func decrypt(_ string: String) throws -> Data {
    guard let data = Data(base64Encoded: String(string.reversed())) else { throw POSIXError(.EINVAL) }
    return data
  }
}
