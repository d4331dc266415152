import Foundation
import LMDBCaching

/// Opens the directory of a cache with the durability that is stored in it.
enum CacheOpening {
  /// What is too much is for the processes to say that the cache is of.
  static let configuration = {
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    // Who looks at a cache, or changes an entry of it, does not expect it to be made anew.
    configuration.disk.recoversFromDamage = false
    return configuration
  }()

  /// Looks at what is there: nothing of it is changed, and no permission needed but to read it.
  static func reader(_ argument: String) throws -> CacheReader {
    try reader(at: CacheLocation.directory(argument))
  }

  /// The same for a directory.
  static func reader(at directory: URL) throws -> CacheReader {
    guard let reader = try looking({ try CacheReader(directory: directory) }) else {
      throw ToolError(.noInput, "there is no cache in \(directory.path)")
    }
    return reader
  }

  /// What is no directory of a cache cannot be looked at; that nothing can be created there is nobody's concern.
  static func looking<R>(_ body: () throws -> R) throws -> R {
    do {
      return try orNoCache(body)
    } catch let error as CacheError where error.code == .invalidDirectory {
      throw ToolError(.noInput, error.message)
    }
  }

  /// A database that is no cache, as far as can be told, is not damaged either.
  static func orNoCache<R>(_ open: () throws -> R) throws -> R {
    do {
      return try open()
    } catch let error as CacheError where error.code == .corruptedRecord {
      throw ToolError(.dataError, error.message)
    }
  }

  /// Opens what is there already, and creates nothing.
  static func existing<Cache>(
    _ argument: String, _ open: (URL, CacheConfiguration) throws(CacheError) -> Cache
  ) throws -> (cache: Cache, durability: Durability) {
    let directory = try CacheLocation.existing(argument)
    // Untyped throws: the compiler crashes where it has to convert a closure with typed ones that returns a generic tuple.
    return try orNoCache { () throws in try orCreated(directory, configuration, durability: nil, open) }
  }

  /// Opens what is there, or makes a new cache, which is `.ordered` if nothing else is asked for.
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
    // `.fast` comes last: only then can the directory be nothing but such a cache.
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
