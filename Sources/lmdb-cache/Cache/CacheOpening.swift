import Foundation
import LMDBCaching

/// Opens a cache's directory with its stored durability.
enum CacheOpening {
  /// The cache's own processes enforce its limits.
  static let configuration = {
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    // Inspecting or changing an entry must not recreate the cache.
    configuration.disk.recoversFromDamage = false
    return configuration
  }()

  /// Opens a cache for reading. Changes nothing, and needs only read permission.
  static func reader(_ argument: String) throws -> CacheReader {
    try reader(at: CacheLocation.directory(argument))
  }

  static func reader(at directory: URL) throws -> CacheReader {
    guard let reader = try looking({ try CacheReader(directory: directory) }) else {
      throw ToolError(.noInput, "there is no cache in \(directory.path)")
    }
    return reader
  }

  /// Reports a directory that is not a cache as such, not as a failure to create files in it.
  static func looking<R>(_ body: () throws -> R) throws -> R {
    do {
      return try orNoCache(body)
    } catch let error as CacheError where error.code == .invalidDirectory {
      throw ToolError(.noInput, error.message)
    }
  }

  /// Reports a database that does not look like a cache as such, not as damaged.
  static func orNoCache<R>(_ open: () throws -> R) throws -> R {
    do {
      return try open()
    } catch let error as CacheError where error.code == .corruptedRecord {
      throw ToolError(.dataError, error.message)
    }
  }

  /// Opens an existing cache, and creates nothing.
  static func existing<Cache>(
    _ argument: String, _ open: (URL, CacheConfiguration) throws(CacheError) -> Cache
  ) throws -> (cache: Cache, durability: Durability) {
    let directory = try CacheLocation.existing(argument)
    // Untyped throws: the compiler crashes on converting a closure with typed throws that returns a generic tuple.
    return try orNoCache { () throws in try orCreated(directory, configuration, durability: nil, open) }
  }

  /// Opens a cache or creates one, by default `.ordered`.
  static func orCreated<Cache>(
    _ directory: URL, _ configuration: CacheConfiguration, durability: Durability?,
    _ open: (URL, CacheConfiguration) throws(CacheError) -> Cache
  ) throws -> (cache: Cache, durability: Durability) {
    try orNoCache { try Self.open(directory, configuration, durability, open) }
  }

  private static func open<Cache>(
    _ directory: URL, _ configuration: CacheConfiguration, _ durability: Durability?,
    _ open: (URL, CacheConfiguration) throws(CacheError) -> Cache
  ) throws(CacheError) -> (cache: Cache, durability: Durability) {
    var configuration = configuration
    // `.fast` comes last: then the directory can only be such a cache.
    let candidates = durability.map { [$0] } ?? [.ordered, .full, .fast]
    for candidate in candidates.dropLast() {
      configuration.durability = candidate
      do throws(CacheError) {
        return (try open(directory, configuration), candidate)
      } catch {
        if error.code != .durabilityMismatch { throw error }
      }
    }
    configuration.durability = candidates[candidates.count - 1]
    return (try open(directory, configuration), configuration.durability)
  }
}
