public import ArgumentParser
import Foundation
public import LMDBCaching

struct CacheOption: ParsableArguments {
  static let explanation =
    "The cache: a path if it has a slash (./thumbnails), else the name that a program gave it."

  @Option(name: .long, help: ArgumentHelp("\(explanation)", valueName: "dir"), completion: CacheCompletion.kind)
  var cache: String

  /// Runs `body` with a reader of the existing cache, which changes nothing.
  func withReader<R>(_ body: (CacheReader) throws -> R) throws -> R {
    let reader = try CacheOpening.reader(at: CacheLocation.directory(cache))
    let notices = reader.notices
    for notice in notices { StandardError.tell(notice) }
    defer {
      for notice in reader.notices where !notices.contains(notice) { StandardError.tell(notice) }
    }
    return try body(reader)
  }

  /// Runs `body` with the existing cache and closes it. Writes are committed when this returns.
  func withExisting<R>(_ body: (LMDBCache, Durability) throws -> R) throws -> R { try Self.withExisting(cache, body) }

  static func withExisting<R>(_ argument: String, _ body: (LMDBCache, Durability) throws -> R) throws -> R {
    let (cache, durability) = try CacheOpening.open(CacheLocation.existing(argument), open)
    return try closing(cache) { cache in try body(cache, durability) }
  }

  /// Runs `body` with the cache, creating it if necessary.
  ///
  /// - Parameter preferred: A new cache's durability, unless `durability` is given.
  func withExistingOrNew<R>(
    durability: Durability?, otherwise preferred: Durability? = nil, _ body: (LMDBCache) throws -> R
  ) throws -> R {
    let directory = try CacheLocation.directory(cache)
    let isThere = Platform.statusError(ofFileAt: directory.path + "/data.mdb") != ENOENT
    let known = durability ?? (isThere ? nil : preferred)
    return try Self.closing(CacheOpening.open(directory, durability: known, Self.open).cache, body)
  }

  // Only the disk tier, which reports failed writes; the whole cache would continue in memory.
  private static func open(_ directory: URL, _ configuration: CacheConfiguration) throws(CacheError) -> LMDBCache {
    try LMDBCache(directory: directory, configuration: configuration.withoutMemory)
  }

  private static func closing<R>(_ cache: LMDBCache, _ body: (LMDBCache) throws -> R) throws -> R {
    let result = Result { try body(cache) }
    // The body's failure takes precedence over that of committing the last writes.
    let closed = Result { try cache.close() }
    let value = try result.get()
    try closed.get()
    return value
  }
}

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

  /// Opens a cache with its stored durability, or creates one, by default `.ordered`.
  static func open<Cache>(
    _ directory: URL, durability: Durability? = nil, configuration: CacheConfiguration = configuration,
    _ open: (URL, CacheConfiguration) throws -> Cache
  ) throws -> (cache: Cache, durability: Durability) {
    var configuration = configuration
    // `.fast` comes last: then the directory can only be such a cache.
    let candidates = durability.map { [$0] } ?? [.ordered, .full, .fast]
    configuration.durability = candidates[0]
    return try orNoCache {
      for next in candidates.dropFirst() {
        do {
          return (try open(directory, configuration), configuration.durability)
        } catch let error as CacheError where error.code == .durabilityMismatch {
          configuration.durability = next
        }
      }
      return (try open(directory, configuration), configuration.durability)
    }
  }
}

/// Resolves the argument of `--cache`.
enum CacheLocation {
  /// A cache's directory: `argument` itself if it has a slash or is `.` or `..`, otherwise the cache of any program
  /// with that name. An unknown name is that of a new cache of this tool.
  static func directory(_ argument: String) throws(ToolError) -> URL {
    if argument.isEmpty { throw ToolError(.usage, "--cache is empty; give a path or a name.") }
    if argument.contains("/") || argument == "." || argument == ".." { return URL(fileURLWithPath: argument) }
    let found = named.filter { $0.lastPathComponent == argument }
    guard found.count < 2 else {
      throw ToolError(
        .usage, "several programs have a cache \(argument); give a path: \(found.map(\.path).joined(separator: ", "))")
    }
    return found.first
      ?? UserDirectory.caches.url.appendingPathComponent("\(UserDirectory.program)/\(argument)", isDirectory: true)
  }

  /// The directories of the user's named caches: `<place>/<program>/<name>`.
  static var named: [URL] {
    UserDirectory.allCases.map(\.url).flatMap { contents(of: $0) }.flatMap { contents(of: $0) }
      .filter { Platform.statusError(ofFileAt: $0.path + "/data.mdb") == nil }
  }

  /// Unreadable directories contain no caches of this user.
  private static func contents(of directory: URL) -> [URL] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path)
    return (names ?? []).sorted().map { directory.appendingPathComponent($0, isDirectory: true) }
  }

  /// The directory of an existing cache.
  static func existing(_ argument: String) throws(ToolError) -> URL {
    let directory = try directory(argument)
    // Every opened cache has a database; a directory without one is not a cache.
    switch Platform.statusError(ofFileAt: directory.path + "/data.mdb") {
    case nil: return directory
    case EACCES: throw ToolError(.noPermission, "permission denied: \(directory.path)")
    default: throw ToolError(.noInput, "there is no cache in \(directory.path)")
    }
  }
}

extension Durability: ExpressibleByArgument {
  public init?(argument: String) {
    guard let durability = Self.allCases.first(where: { "\($0)" == argument }) else { return nil }
    self = durability
  }

  public var defaultValueDescription: String { "\(self)" }

  public static var allValueDescriptions: [String: String] {
    [
      "ordered": "a power cut loses at most the writes of the last moment",
      "full": "every write waits until it is on the disk",
      "fast": "a crash of the operating system loses the whole cache",
    ]
  }

  public static var allValueStrings: [String] { allCases.map { "\($0)" } }
}
