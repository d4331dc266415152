public import Foundation
import Logging
import Platform

extension LMDBCache {
  /// Writes a snapshot of the disk tier into a new directory, which opens as any cache.
  ///
  /// Readers and writers of all processes continue; the files grow more if they write. The copy includes all earlier
  /// writes of this process and the committed ones of others (``CacheConfiguration/Disk/groupCommitInterval``). Values,
  /// formats, times, costs, tags and transformed values are copied as they are. It needs as much room as the entries;
  /// unused space in the files is not copied.
  ///
  /// The copy is made in the same parent directory under a name that begins with `.lmdb-cache-`, synchronized, verified
  /// with all checksums, and then renamed. So the copy is whole or missing. A killed process leaves the temporary
  /// directory.
  ///
  /// - Parameters:
  ///   - directory: A new directory in an existing one, or an empty one; outside the cache's own directory.
  ///   - skippingDamaged: Whether to leave out damaged entries. The report names them.
  /// - Returns: The report of the copy.
  /// - Throws: `.corruptedRecord`, with the damaged keys in the message; `.invalidDirectory` if the place is taken;
  ///   `.noSpace`, `.remoteFileSystem`, `.permissionDenied`, `.damagedDatabase` and others. The partial copy is
  ///   deleted, and the cache is unchanged.
  @discardableResult
  public func backUp(to directory: URL, skippingDamaged: Bool = false) throws(CacheError) -> BackupReport {
    var options = CacheCopying.Options()
    options.skipsDamaged = skippingDamaged
    guard let report = try CacheCopying.backUp(self, to: directory, options) else {
      preconditionFailure("Nothing cancels it.")
    }
    return report
  }

  /// The async form, on a background queue.
  @discardableResult
  public nonisolated(nonsending) func backUp(
    to directory: URL, skippingDamaged: Bool = false
  ) async throws(CacheError) -> BackupReport {
    try await background.perform(.aside) { [self] () throws(CacheError) in
      try backUp(to: directory, skippingDamaged: skippingDamaged)
    }
  }
}

/// The contents of a backup: see ``LMDBCache/backUp(to:skippingDamaged:)``.
public struct BackupReport: Sendable {
  /// Entries, including expired ones that are kept for loads.
  public var entries = 0
  /// Bytes of the keys and the stored values.
  public var bytes = 0
  /// How many damaged entries were left out.
  public var damagedEntries = 0
  /// The errors of the first damaged entries, which name their keys.
  public var damage: [CacheError] = []

  static let greatestDamage = 100

  mutating func note(_ error: CacheError) {
    damagedEntries += 1
    if damage.count < Self.greatestDamage { damage.append(error) }
  }
}

/// Copies a snapshot of a cache's entries into a new cache.
///
/// Records are copied as they are, with new stamps. The copy is compact, without unused space in the database or value
/// log.
package struct CacheCopying {
  package struct Options {
    package var skipsDamaged = false
    /// Receives the number of copied entries after each.
    package var progress: (Int) -> Void = { _ in }
    /// Polled; if `true`, the copy is removed.
    package var isCancelled: () -> Bool = { false }

    package init() {}
  }

  let options: Options

  // MARK: Open caches

  /// - Returns: `nil` if it was cancelled; nothing is left then.
  package static func backUp(_ cache: LMDBCache, to url: URL, _ options: Options) throws(CacheError) -> BackupReport? {
    try cache.checkOpen()
    let place = try newPlace(url, outside: cache.store.place.directory)
    var configuration = cache.configuration
    configuration.disk.allowsOtherUsers = false
    return try CacheCopying(options: options).copy(to: place, configuration) { (body, onDamage) in
      try cache.forEachRecord(onDamage: onDamage, body)
    }
  }

  private static func newPlace(_ url: URL, outside directory: Directory) throws(CacheError) -> NewPlace {
    let place = try NewPlace(url)
    if place.isWithin(directory) {
      throw CacheError(
        .invalidArgument,
        "\(place.path) is in the directory of the cache itself, \(directory.path). Give a place elsewhere.")
    }
    return place
  }

  // MARK: Read-only caches

  /// Copies a cache without opening it, for one that must not be written to.
  package static func backUp(
    _ reader: CacheReader, to url: URL, _ options: Options
  ) throws(CacheError) -> BackupReport? {
    try CacheCopying(options: options).copy(reader, to: newPlace(url, outside: reader.place))
  }

  /// - Parameter moving: Moves the copy to its place.
  /// - Throws: `.busy` if the cache is written to in the meantime.
  func copy(
    _ reader: CacheReader, to place: NewPlace,
    moving: (StagedCache, NewPlace) throws(CacheError) -> Void = Self.moveToNewPlace
  ) throws(CacheError) -> BackupReport? {
    var configuration = CacheConfiguration()
    configuration.durability = try reader.figures().durability ?? .ordered
    let source: Source = { body, onDamage in
      let before = try reader.state()
      try reader.forEachRecord(selection: .kept, onDamage: onDamage, body)
      if try !options.isCancelled() && reader.state() != before {
        throw CacheError(
          .busy,
          "The cache in \(reader.place.path) was written to while it was copied. Try again when nobody writes to it.")
      }
    }
    return try copy(to: place, configuration, source, moving: moving)
  }

  // MARK: The work

  private static func moveToNewPlace(_ staged: StagedCache, _ place: NewPlace) throws(CacheError) {
    try staged.move(to: place)
  }

  private typealias Source = (
    _ body: (EntryRecord) throws -> Bool, _ onDamage: (CacheError) throws -> Void
  ) throws -> Void

  private func copy(
    to place: NewPlace, _ configuration: CacheConfiguration, _ source: Source,
    moving: (StagedCache, NewPlace) throws(CacheError) -> Void = Self.moveToNewPlace
  ) throws(CacheError) -> BackupReport? {
    var configuration = configuration
    // The copy keeps every entry as it is.
    (configuration.disk.countLimit, configuration.disk.costLimit) = (.max, .max)
    (configuration.disk.ageLimit, configuration.disk.freeSpaceLimit) = (nil, 0)
    configuration.valueTransforms = []
    // Errors are thrown, so the copy need not log.
    configuration.logger = Logger(label: "lmdb-caching", factory: { _ in SwiftLogNoOpLogHandler() })
    configuration.reportsMetrics = false
    let staged = try StagedCache(for: place, configuration)
    do {
      try source(
        { record in
          if staged.report.damagedEntries == 0 || options.skipsDamaged { try staged.append(record) }
          options.progress(staged.report.entries)
          return !options.isCancelled()
        },
        { error in staged.note(damage: error) })
      if !options.isCancelled() {
        if !options.skipsDamaged { try requireSound(staged.report) }
        try staged.complete(isCancelled: options.isCancelled)
      }
      if options.isCancelled() {
        staged.abandon()
        return nil
      }
      try moving(staged, place)
      return staged.report
    } catch {
      staged.abandon()
      throw Self.failure(error, place)
    }
  }

  private func requireSound(_ report: BackupReport) throws(CacheError) {
    if report.damagedEntries == 0 { return }
    let more = report.damagedEntries > report.damage.count ? "\n…" : ""
    throw CacheError(
      .corruptedRecord,
      "\(report.damagedEntries) entries are damaged, and nothing was copied. Remove or replace them, or leave them out:\n"
        + report.damage.map(\.message).joined(separator: "\n") + more)
  }

  private static func failure(_ error: any Error, _ place: NewPlace) -> CacheError {
    let error = CacheError(converting: error, during: "Copying the cache to \(place.path)")
    guard error.code == .noSpace else { return error }
    return CacheError(
      .noSpace,
      "The disk is full: the cache could not be copied to \(place.path), and nothing is left there. Free some space, or give "
        + "a place on another disk.", underlying: error.underlying)
  }
}

/// The place of a new cache: an unused name, or an empty directory, in an existing directory.
struct NewPlace {
  let parent: Directory
  let name: String

  /// - Throws: `.invalidDirectory` if the place is taken; `.invalidArgument` unless it is a file URL.
  init(_ url: URL) throws(CacheError) {
    guard url.isFileURL else {
      throw CacheError(.invalidArgument, "\(url) is no file URL; make one with URL(fileURLWithPath:).")
    }
    let url = url.standardizedFileURL
    name = url.lastPathComponent
    let parentPath = url.deletingLastPathComponent().path
    let parent = try calling("Looking at \(parentPath)") { () throws(SystemError) in try Directory(existing: parentPath)
    }
    guard let parent else {
      throw CacheError(.invalidDirectory, "There is no directory \(parentPath). Make it first; nothing was changed.")
    }
    self.parent = parent
    try requireNothing()
  }

  init(parent: Directory, name: String) {
    self.parent = parent
    self.name = name
  }

  var path: String { parent.path(of: name) }

  private func requireNothing() throws(CacheError) {
    let isFree = try calling("Looking at \(path)") { () throws(SystemError) in
      switch try parent.kind(of: name) {
      case nil: true
      case .directory: try parent.subdirectory(name).map { (found) throws(SystemError) in try found.isEmpty() } ?? true
      default: false
      }
    }
    if !isFree {
      throw CacheError(
        .invalidDirectory, "There is something at \(path). Give the path of a new directory; nothing was changed.")
    }
  }

  func isWithin(_ directory: Directory) -> Bool {
    parent.path == directory.path || parent.path.hasPrefix(directory.path == "/" ? "/" : directory.path + "/")
  }
}
