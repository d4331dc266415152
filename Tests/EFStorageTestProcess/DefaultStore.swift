import EFStorageLMDBCache
import Foundation
import Storez

/// What is meant where nothing is named: a store of typed keys, and properties.
enum DefaultStore {
  private static let visits = Key<GlobalNamespace, Int>(id: "visits", defaultValue: 0)

  /// Writes by one and reads by the other; says where.
  static func run() throws {
    let property = EFStorageLMDBCacheRef<Int>.forKey("visits")
    property.content = 1
    let store = try LMDBStore()
    print(store.cache.directory.path)
    print(store.get(visits))
    store.set(visits, value: 2)
    print(property.content ?? -1)
    // And in the other order, in which the store has opened the directory.
    let other = try LMDBStore(name: "other")
    other.set(visits, value: 3)
    print(other.cache.directory.lastPathComponent, other.get(visits), store.get(visits))
  }
}
