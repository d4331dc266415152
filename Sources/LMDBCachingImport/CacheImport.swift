import Foundation
public import LMDBCaching
import Synchronization

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
    var run = try opened(for: cache)
    return try run.run(into: cache, storing: true, progress, isCancelled)
  }

  /// Reads and converts everything without storing it, and reports what an import would do.
  ///
  /// - Parameters:
  ///   - cache: The destination; `nil` for an empty cache.
  ///   - progress: As in ``run(into:progress:isCancelled:)``.
  ///   - isCancelled: As in ``run(into:progress:isCancelled:)``.
  /// - Throws: As ``run(into:progress:isCancelled:)``.
  public func dryRun(
    for cache: LMDBCache?, progress: (ImportProgress) -> Void = { _ in },
    isCancelled: () -> Bool = { Task.isCancelled }
  ) throws(ImportError) -> ImportReport {
    var run = try opened(for: cache)
    return try run.run(into: cache, storing: false, progress, isCancelled)
  }

  private func opened(for cache: LMDBCache?) throws(ImportError) -> ImportRun {
    try ImportRun(
      from: source, options, intoCacheAt: cache?.directory.path,
      isUnarchivedByClosure: cache?.objectCoding.customUnarchive != nil)
  }
}

extension CacheImport {
  /// Imports on a separate thread without blocking the caller's executor. Cancelling the task ends the import, which
  /// then returns its report so far.
  ///
  /// - Parameters:
  ///   - cache: The destination.
  ///   - progress: Called regularly and at the end, on that thread.
  /// - Throws: As ``run(into:progress:isCancelled:)``.
  @discardableResult
  public nonisolated(nonsending) func run(
    into cache: LMDBCache, progress: @escaping @Sendable (ImportProgress) -> Void = { _ in }
  ) async throws(ImportError) -> ImportReport {
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Result<ImportReport, ImportError>, Never>) in
        Thread.detachNewThread {
          let result: Result<ImportReport, ImportError>
          do throws(ImportError) {
            result = .success(
              try run(into: cache, progress: progress, isCancelled: { cancellation.flag.load(ordering: .relaxed) }))
          } catch {
            result = .failure(error)
          }
          continuation.resume(returning: result)
        }
      }
    } onCancel: {
      cancellation.flag.store(true, ordering: .relaxed)
    }.get()
  }
}

private final class Cancellation: Sendable {
  let flag = Atomic<Bool>(false)
}

/// The entries to import, and the handling of existing ones.
public struct ImportOptions: Sendable {
  /// How to handle a key that the cache already has.
  public enum Existing: Hashable, Sendable {
    /// Keeps the cache's entry, even if stored during the import: an import never replaces newer entries, and a
    /// repeated one continues.
    case kept
    /// Replaces it with the source's entry.
    case replaced
  }

  public var existing = Existing.kept

  /// A prefix for every key.
  public var keyPrefix = ""

  /// Selects entries by their keys in the source; `nil` selects all. Called on the importing thread.
  public var isSelected: (@Sendable (String) -> Bool)?

  /// Longer values are refused: bytes, 512 MiB by default, always below 4 GiB. Each value is held in memory as a whole.
  public var maximumValueSize = 512 << 20

  /// The most refusals that a report lists, 100 by default. All are counted.
  public var listedRefusals = 100

  public init() {}
}

/// The progress of an import.
public struct ImportProgress: Sendable {
  /// The number of entries in the source, if known in advance.
  public let total: Int?
  /// The report so far.
  public let report: ImportReport
}

/// The results of an import or a dry run.
public struct ImportReport: Sendable, Equatable {
  /// Entries examined. Each is also counted once below.
  public package(set) var examined = 0
  /// Entries added to the cache or replaced in it.
  public package(set) var taken = 0
  /// Bytes of their keys and values, as stored.
  public package(set) var takenBytes = 0
  /// Entries skipped because the cache has their key.
  public package(set) var present = 0
  public package(set) var expired = 0
  /// Entries not selected by ``ImportOptions/isSelected``.
  public package(set) var unselected = 0
  public package(set) var refused = 0
  /// The first refusals, at most ``ImportOptions/listedRefusals``; ``refusalCounts`` has all.
  public package(set) var refusals: [ImportRefusal] = []
  /// The number of refusals for each reason, including those of parts of entries or of no single entry.
  public package(set) var refusalCounts: [ImportRefusal.Reason: Int] = [:]
  /// Whether the source was read to its end, not cancelled or failed. Repeat an incomplete import to continue it.
  public package(set) var isComplete = false
  /// Whether this was a dry run, which stores nothing.
  public package(set) var isDryRun = false

  package init() {}

  mutating func note(_ refusal: ImportRefusal, listing limit: Int) {
    refusalCounts[refusal.reason, default: 0] += 1
    if refusals.count < limit { refusals.append(refusal) }
  }
}
