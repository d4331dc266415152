import Foundation
public import LMDBCaching

/// Takes the entries of another store into a cache.
///
/// ```swift
/// let report = try CacheImport(from: .yyCache(directory: url)).run(into: cache) { progress in print(progress) }
/// ```
///
/// The source is only read. What the cache has under a key stays, unless ``ImportOptions/existing`` says otherwise: so an
/// import can be ended at any time, and run again. What cannot be taken of an entry is in the ``ImportReport``, and does not
/// end it.
///
/// The limits of the cache hold for what is imported, with the times of access that it had: what was not used for longer
/// than `ageLimit` goes with the next trim.
public struct CacheImport: Sendable {
  public var source: ImportSource
  public var options: ImportOptions

  public init(from source: ImportSource, options: ImportOptions = ImportOptions()) {
    self.source = source
    self.options = options
  }

  /// Imports, and returns when everything that was taken survives the death of the process.
  ///
  /// - Parameters:
  ///   - progress: Told now and then how far it is, and at the end; on this thread.
  ///   - isCancelled: Asked before each entry: an import that is cancelled returns what it did until then. By default it is
  ///     when the task is, if it runs in one.
  /// - Throws: Where the source cannot be read, or not any more, or the cache fails. What was taken stays, and
  ///   ``ImportError/report`` tells of it.
  @discardableResult
  public func run(
    into cache: LMDBCache, progress: (ImportProgress) -> Void = { _ in },
    isCancelled: () -> Bool = { Task.isCancelled }
  ) throws(ImportError) -> ImportReport {
    var run = try opened(for: cache.diskCache)
    return try run.run(into: cache.diskCache, cache.memoryCache, storing: true, progress, isCancelled)
  }

  /// The same into a disk tier alone.
  @discardableResult
  public func run(
    into cache: DiskCache, progress: (ImportProgress) -> Void = { _ in },
    isCancelled: () -> Bool = { Task.isCancelled }
  ) throws(ImportError) -> ImportReport {
    var run = try opened(for: cache)
    return try run.run(into: cache, nil, storing: true, progress, isCancelled)
  }

  /// Finds out what an import would do, by reading and converting everything, and stores nothing.
  ///
  /// - Parameters:
  ///   - cache: The cache that it would be into; `nil`: an empty one.
  ///   - progress: As of ``run(into:progress:isCancelled:)``.
  ///   - isCancelled: As there.
  /// - Throws: As there.
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
