import Foundation
import LMDBCaching

/// Both tiers: writes also go to memory. For reads from memory, see memory.get.random.
final class OwnTieredCache: DiskSubject {
  private let cache: LMDBCache

  init(_ directory: URL) throws { cache = try LMDBCache(directory: directory) }

  func set(_ keys: KeyList, _ value: Data) throws {
    for key in keys.strings { try cache.set(value, forKey: key) }
  }

  func set(_ keys: KeyList, _ value: Data, inBatchesOf size: Int) throws {
    for start in stride(from: 0, to: keys.count, by: size) {
      try cache.write { batch in
        for key in keys.strings[start..<min(start + size, keys.count)] { batch.set(value, forKey: key) }
      }
    }
  }

  func get(_ keys: KeyList) throws {
    for key in keys.strings {
      guard try cache.value(Data.self, forKey: key) != nil else { throw WorkloadError("LMDBCache lost \(key).") }
    }
  }

  func getMissing(_ keys: KeyList) throws {
    for key in keys.strings {
      guard try cache.value(Data.self, forKey: key) == nil else { throw WorkloadError("Who set \(key)?") }
    }
  }

  func value(_ keys: KeyList, at place: Int) throws -> Data? {
    try cache.value(Data.self, forKey: keys.strings[place])
  }

  func remove(_ keys: KeyList) throws {
    for key in keys.strings { try cache.removeValue(forKey: key) }
  }

  func settle() throws { try cache.flush() }

  func close() throws { try cache.close() }
}
