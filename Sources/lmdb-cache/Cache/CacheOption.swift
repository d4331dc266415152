import ArgumentParser
import Foundation
import LMDBCaching

struct CacheOption: ParsableArguments {
  static let explanation =
    "The cache: a path if it has a slash (./thumbnails), else the name that a program gave it."

  @Option(name: .long, help: ArgumentHelp("\(explanation)", valueName: "dir"), completion: CacheCompletion.kind)
  var cache: String

  /// Runs `body` with a reader of the existing cache, which changes nothing.
  func withReader<R>(_ body: (CacheReader) throws -> R) throws -> R {
    let reader = try CacheOpening.reader(cache)
    // Fail before showing anything.
    _ = try reader.position()
    let notices = reader.notices
    for notice in notices { StandardError.tell(notice) }
    defer {
      for notice in reader.notices where !notices.contains(notice) { StandardError.tell(notice) }
    }
    return try body(reader)
  }

  /// Runs `body` with the existing cache and closes it. Writes are committed when this returns.
  func withExisting<R>(_ body: (DiskCache, Durability) throws -> R) throws -> R {
    try Self.withExisting(cache, body)
  }

  static func withExisting<R>(_ argument: String, _ body: (DiskCache, Durability) throws -> R) throws -> R {
    let (cache, durability) = try CacheOpening.existing(argument, open)
    return try closing(cache) { cache in try body(cache, durability) }
  }

  /// Runs `body` with the cache, creating it if necessary.
  ///
  /// - Parameter preferred: A new cache's durability, unless `durability` is given.
  func withExistingOrNew<R>(
    durability: Durability?, otherwise preferred: Durability? = nil, _ body: (DiskCache) throws -> R
  ) throws -> R {
    let directory = try CacheLocation.directory(cache)
    let isThere = Platform.statusError(ofFileAt: directory.path + "/data.mdb") != ENOENT
    return try Self.closing(
      CacheOpening.orCreated(
        directory, CacheOpening.configuration, durability: durability ?? (isThere ? nil : preferred), Self.open
      ).cache, body)
  }

  // Only the disk tier, which reports failed writes; the whole cache would continue in memory.
  private static func open(_ directory: URL, _ configuration: CacheConfiguration) throws(CacheError) -> DiskCache {
    try DiskCache(directory: directory, configuration: configuration)
  }

  private static func closing<R>(_ cache: DiskCache, _ body: (DiskCache) throws -> R) throws -> R {
    let result = Result { try body(cache) }
    // The body's failure takes precedence over that of committing the last writes.
    let closed = Result { try cache.close() }
    let value = try result.get()
    try closed.get()
    return value
  }
}
