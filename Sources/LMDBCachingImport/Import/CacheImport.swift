import Foundation
public import LMDBCaching

/// Imports the entries of another store into a cache.
///
/// ```swift
/// let report = try CacheImport(from: .yyCache(directory: url)).run(into: cache) { progress in print(progress) }
/// ```
///
/// The source is only read. Existing keys in the cache are kept unless ``ImportOptions/existing`` says otherwise, so an
/// import can be stopped at any time and repeated. Entries that cannot be taken are in the ``ImportReport`` and do not
/// end the import.
///
/// The cache's limits apply, using the original access times: the next trim removes entries unused for longer than
/// `ageLimit`.
public struct CacheImport: Sendable {
  public var source: ImportSource
  public var options: ImportOptions

  public init(from source: ImportSource, options: ImportOptions = ImportOptions()) {
    self.source = source
    self.options = options
  }

  /// Imports, and returns once all entries survive a crash of the process.
  ///
  /// - Parameters:
  ///   - progress: Called regularly and at the end, on this thread.
  ///   - isCancelled: Called before each entry; a cancelled import returns its report so far. By default whether the
  ///     current task is cancelled.
  /// - Throws: If the source cannot be read or the cache fails. Imported entries stay, and ``ImportError/report`` has
  ///   the report so far.
  @discardableResult
  public func run(
    into cache: LMDBCache, progress: (ImportProgress) -> Void = { _ in },
    isCancelled: () -> Bool = { Task.isCancelled }
  ) throws(ImportError) -> ImportReport {
    var run = try opened(for: cache.diskCache)
    return try run.run(into: cache.diskCache, cache.memoryCache, storing: true, progress, isCancelled)
  }

  /// Imports into a disk tier only.
  @discardableResult
  public func run(
    into cache: DiskCache, progress: (ImportProgress) -> Void = { _ in },
    isCancelled: () -> Bool = { Task.isCancelled }
  ) throws(ImportError) -> ImportReport {
    var run = try opened(for: cache)
    return try run.run(into: cache, nil, storing: true, progress, isCancelled)
  }

  /// Reads and converts everything without storing it, and reports what an import would do.
  ///
  /// - Parameters:
  ///   - cache: The destination; `nil` for an empty cache.
  ///   - progress: As in ``run(into:progress:isCancelled:)``.
  ///   - isCancelled: As in ``run(into:progress:isCancelled:)``.
  /// - Throws: As ``run(into:progress:isCancelled:)``.
  public func dryRun(
    for cache: DiskCache?, progress: (ImportProgress) -> Void = { _ in },
    isCancelled: () -> Bool = { Task.isCancelled }
  ) throws(ImportError) -> ImportReport {
    var run = try opened(for: cache)
    return try run.run(into: cache, nil, storing: false, progress, isCancelled)
  }

  private func opened(for cache: DiskCache?) throws(ImportError) -> ImportRun {
    try ImportRun(
      from: source, options, intoCacheAt: cache?.directory.path,
      isUnarchivedByClosure: cache?.customUnarchive != nil)
  }
}
