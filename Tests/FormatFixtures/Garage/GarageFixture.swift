package import Foundation
package import GarageStorage

/// A garage with something of everything.
///
/// Releases have written it: what is expected of their files is not changed any more.
package enum GarageFixture {
  package static let born = Date(timeIntervalSince1970: 100.25)
  /// Longer than what is a key as it is.
  package static let longName = String(repeating: "Ångström ", count: 60)
  package static let ticket = FixtureTicket(
    id: UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)), title: "one way", price: 12.5)
  package static let shelf = FixtureShelf(words: ["a", "", "短い"], width: nil)
  package static let secret = FixtureSecret(id: "safe", text: "1234")

  /// Writes it into an empty directory.
  ///
  /// - Returns: The garage, which is open.
  package static func write(to directory: URL) throws -> Garage {
    let description = PersistentStoreDescription(url: directory)
    description.mapSize = 1 << 26
    let garage = Garage(with: [description])
    let ann = FixtureAuthor("Ann", born: born, .syncing)
    let bob = FixtureAuthor("Bob", born: Date(timeIntervalSince1970: -1_000_000_000), .notSynced)
    let books = [FixtureBook(1, "First"), FixtureBook(2, "Second"), FixtureBook(3, "Third")]
    ann.books = Array(books.prefix(2))
    // Around a cycle, and to another one.
    books[0].author = ann
    books[1].author = bob
    try garage.parkAll([ann, bob, FixtureAuthor(longName, born: born)])
    try garage.setSyncStatus(.synced, for: bob)
    try garage.park(books[2])
    try garage.delete(books[2])
    try garage.park(ticket)
    try garage.park(shelf)
    // What is parked from now on.
    garage.dataEncryptionDelegate = FixtureCipher()
    try garage.park(secret)
    return garage
  }
}
