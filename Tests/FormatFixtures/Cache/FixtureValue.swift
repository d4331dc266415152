package import Foundation
import LMDBCaching

/// A fixture's value: how it is written, and how it is checked.
package struct FixtureValue: Sendable {
  package let key: String
  /// `nil` means never.
  package let expiration: Date?
  /// `nil` means its size.
  package let cost: Int?
  package let tags: [String]
  let write: @Sendable (LMDBCache) throws -> Void
  private let look: @Sendable (any FixtureReading) throws -> Bool

  /// - Parameter write: `nil` for a plain set.
  init<V: Codable & Equatable & Sendable>(
    _ key: String, _ value: V, expiration: Date? = nil, cost: Int? = nil, tags: [String] = [],
    write: (@Sendable (LMDBCache) throws -> Void)? = nil
  ) {
    self.key = key
    self.expiration = expiration
    self.cost = cost
    self.tags = tags
    if let write {
      self.write = write
    } else {
      self.write = { cache in
        let expires: Expiry = if let expiration { .at(expiration) } else { .never }
        try cache.set(value, forKey: key, expires: expires, cost: cost, tags: tags)
      }
    }
    look = { reading in
      let found = try reading.fixtureValue(V.self, forKey: key)
      return found == value
    }
  }

  init(_ key: String, _ object: FixtureObject, _ archiving: ObjectCoding.Archiving) {
    self.key = key
    expiration = nil
    cost = nil
    tags = []
    write = { cache in
      cache.objectCoding.archiving = archiving
      try cache.setObject(object, forKey: key)
    }
    look = { reading in try reading.holdsFixtureObject(object, forKey: key) }
  }

  package func isFound(in reading: any FixtureReading) throws -> Bool { try look(reading) }
}
