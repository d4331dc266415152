import Foundation
package import LMDBCaching

/// Reads values from an open cache, or inspects a closed one.
package protocol FixtureReading {
  func fixtureValue<V: Codable & Sendable>(_ type: V.Type, forKey key: String) throws -> V?

  /// Whether the object is under the key, as far as the reader can tell.
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

  /// Does not decode objects: their text must be in the archive.
  package func holdsFixtureObject(_ object: FixtureObject, forKey key: String) throws -> Bool {
    guard let record = try self.record(forKey: key) else { return false }
    return try archive(of: record).range(of: Data(object.title.utf8)) != nil
  }
}
