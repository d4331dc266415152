import ArgumentParser
import Foundation
import LMDBCaching

/// `--cache`, for the commands that need one.
struct CacheOption: ParsableArguments {
  static let explanation =
    "The cache: a path if it has a slash (./thumbnails), else the name that a program gave it."

  @Option(name: .long, help: ArgumentHelp("\(explanation)", valueName: "dir"), completion: CacheCompletion.kind)
  var cache: String

  /// Runs `body` with what looks at the cache, which has to be there, and changes nothing.
  func withReader<R>(_ body: (CacheReader) throws -> R) throws -> R {
    let reader = try CacheOpening.reader(cache)
    // So that it is known what cannot be shown before anything is.
    _ = try reader.position()
    let notices = reader.notices
    for notice in notices { StandardError.tell(notice) }
    defer {
      for notice in reader.notices where !notices.contains(notice) { StandardError.tell(notice) }
    }
    return try body(reader)
  }

  /// Runs `body` with the cache, which has to be there, and closes it. Writes are committed when this returns.
  func withExisting<R>(_ body: (DiskCache, Durability) throws -> R) throws -> R {
    try Self.withExisting(cache, body)
  }

  /// The same for what the option says.
  static func withExisting<R>(_ argument: String, _ body: (DiskCache, Durability) throws -> R) throws -> R {
    let (cache, durability) = try CacheOpening.existing(argument, open)
    return try closing(cache) { cache in try body(cache, durability) }
  }

  /// The same for a cache that is created where there is none.
  ///
  /// - Parameter preferred: What a new one is if `durability` is not given.
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

  // The disk tier alone: it tells when a write does not reach the disk, where the whole cache goes on in memory.
  private static func open(_ directory: URL, _ configuration: CacheConfiguration) throws(CacheError) -> DiskCache {
    try DiskCache(directory: directory, configuration: configuration)
  }

  private static func closing<R>(_ cache: DiskCache, _ body: (DiskCache) throws -> R) throws -> R {
    let result = Result { try body(cache) }
    // A failure of the body is the one to report; without one, that the last writes were not committed is.
    let closed = Result { try cache.close() }
    let value = try result.get()
    try closed.get()
    return value
  }
}
