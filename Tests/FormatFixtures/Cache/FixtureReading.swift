import Foundation
package import LMDBCaching

/// What a value is read from: a cache that is open, or a look at one that is not.
package protocol FixtureReading {
  func fixtureValue<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws -> V?

  /// Whether the object is under the key, as far as it can be told.
  func holdsFixtureObject(_ object: FixtureObject, forKey key: String) throws -> Bool
}

extension LMDBCache: FixtureReading {
  package func fixtureValue<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws -> V? {
    try value(type, forKey: key)
  }

  package func holdsFixtureObject(_ object: FixtureObject, forKey key: String) throws -> Bool {
    guard let found = try self.object(forKey: key) as? FixtureObject else { return false }
    return found.title == object.title && found.count == object.count
  }
}

extension CacheReader: FixtureReading {
  package func fixtureValue<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws -> V? {
    try value(type, forKey: key)
  }

  /// It makes no objects: their text has to be in the archive.
  package func holdsFixtureObject(_ object: FixtureObject, forKey key: String) throws -> Bool {
    guard let record = try self.record(forKey: key) else { return false }
    return try archive(of: record).range(of: Data(object.title.utf8)) != nil
  }
}
