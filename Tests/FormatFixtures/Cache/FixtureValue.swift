package import Foundation
package import LMDBCaching

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
    look = { reading in try reading.fixtureValue(V.self, forKey: key) == value }
  }

  init(_ key: String, _ object: FixtureObject, _ archiving: ObjectCoding.Archiving) {
    self.key = key
    (expiration, cost, tags) = (nil, nil, [])
    write = { cache in
      cache.objectCoding.archiving = archiving
      try cache.setObject(object, forKey: key)
    }
    look = { reading in try reading.holdsFixtureObject(object, forKey: key) }
  }

  package func isFound(in reading: any FixtureReading) throws -> Bool { try look(reading) }
}

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

/// A custom class. Archives name it and its module, so neither may be renamed.
// Sendable: immutable.
package final class FixtureObject: NSObject, NSSecureCoding, @unchecked Sendable {
  package static let supportsSecureCoding = true
  package let title: String
  package let count: Int

  init(title: String, count: Int) {
    self.title = title
    self.count = count
  }

  package init?(coder: NSCoder) {
    guard let title = coder.decodeObject(of: NSString.self, forKey: "title") else { return nil }
    self.title = String(describing: title)
    count = coder.decodeInteger(forKey: "count")
  }

  package func encode(with coder: NSCoder) {
    coder.encode(NSString(string: title), forKey: "title")
    coder.encode(count, forKey: "count")
  }
}

struct FixturePerson: Codable, Equatable, Sendable {
  struct Address: Codable, Equatable, Sendable {
    var street: String
    var number: Int
  }

  var name: String
  var age: Int
  var height: Double
  var isKnown: Bool
  var born: Date
  var picture: Data
  var identifier: UUID
  var addresses: [Address]
  var marks: [String: Int]
  /// One of these is present, the other is not.
  var nickname: String?
  var title: String?

  static let ann = FixturePerson(
    name: "Ann Ångström", age: 41, height: 1.75, isKnown: true, born: Date(timeIntervalSince1970: 500_000_000.5),
    picture: Data([0, 1, 2, 254, 255]), identifier: UUID(uuid: (9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6)),
    addresses: [Address(street: "Long Street", number: 1), Address(street: "短い", number: -2)],
    marks: ["one": 1, "many": Int.max], nickname: "Annie", title: nil)
}
