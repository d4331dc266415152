package import Foundation
package import GarageStorage

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
