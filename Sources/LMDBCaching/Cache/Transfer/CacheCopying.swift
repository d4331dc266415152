package import Foundation
import Logging
import Platform

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

  /// - Returns: `nil` if cancelled.
  func backUp(_ cache: DiskCache, to url: URL) throws(CacheError) -> BackupReport? {
    try cache.checkOpen()
    if let failure = cache.store.journal.unflushable {
      throw CacheError(
        failure.code,
        "Something is in memory only, since it could not be recorded, and would be missing from the copy. Call flush(), "
          + "which says why.", underlying: failure)
    }
    let place = try NewPlace(url)
    try requireOutside(place, cache.store.place.directory)
    var configuration = cache.configuration
    configuration.disk.allowsOtherUsers = false
    return try copy(to: place, configuration) { (body, onDamage) in
      try cache.forEachRecord(onDamage: onDamage, body)
    } moving: { (staged, place) throws(CacheError) in
      try staged.move(to: place)
    }
  }

  private func requireOutside(_ place: NewPlace, _ directory: Directory) throws(CacheError) {
    if place.isWithin(directory) {
      throw CacheError(
        .invalidArgument,
        "\(place.path) is in the directory of the cache itself, \(directory.path). Give a place elsewhere.")
    }
  }

  // MARK: Read-only caches

  /// Copies a cache without opening it, for one that must not be written to.
  package static func backUp(
    _ reader: CacheReader, to url: URL, _ options: Options
  ) throws(CacheError) -> BackupReport? {
    let copying = CacheCopying(options: options)
    let place = try NewPlace(url)
    try copying.requireOutside(place, reader.place)
    return try copying.copy(reader, to: place) { (staged, place) throws(CacheError) in try staged.move(to: place) }
  }

  /// - Parameter moving: Moves the copy to its place.
  /// - Throws: `.busy` if the cache is written to in the meantime.
  func copy(
    _ reader: CacheReader, to place: NewPlace, moving: (StagedCache, NewPlace) throws(CacheError) -> Void
  ) throws(CacheError) -> BackupReport? {
    var configuration = CacheConfiguration()
    configuration.durability = try reader.figures().durability ?? .ordered
    return try copy(to: place, configuration) { (body, onDamage) in
      let before = try reader.followedState()
      try reader.forEachRecord(selection: .kept, onDamage: onDamage, body)
      // Uncommitted writes only grow while nothing is committed.
      let after = try reader.followedState()
      if !options.isCancelled(), before.position != after.position || before.pendingWrites != after.pendingWrites {
        throw CacheError(
          .busy,
          "The cache in \(reader.place.path) was written to while it was copied. Try again when nobody writes to it.")
      }
    } moving: { (staged, place) throws(CacheError) in
      try moving(staged, place)
    }
  }

  // MARK: The work

  private typealias Source = (
    _ body: (EntryRecord) throws -> Bool, _ onDamage: (CacheError) throws -> Void
  ) throws -> Void

  private func copy(
    to place: NewPlace, _ configuration: CacheConfiguration, _ source: Source,
    moving: (StagedCache, NewPlace) throws(CacheError) -> Void
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
    guard let error = error as? CacheError else {
      return CacheError(.storageFailed, "Copying the cache to \(place.path) failed.", underlying: error)
    }
    guard error.code == .noSpace else { return error }
    return CacheError(
      .noSpace,
      "The disk is full: the cache could not be copied to \(place.path), and nothing is left there. Free some space, or give "
        + "a place on another disk.", underlying: error.underlying)
  }
}
