package import Foundation
package import LMDB

import Platform

/// Verifies caches without opening them.
package enum CacheInspection {
  package struct Report: Sendable {
    /// The database's file in one committed state; `nil` if others commit too fast to read it.
    package var file: VerifiedDataFile?
    /// Transactions committed during the read, whose writes were not verified.
    package var transactionsMeanwhile = 0
    /// Entries that were read one by one, including expired ones.
    package var entries = 0
    /// The number of entries whose checksums, and values, were verified.
    package var values = 0
    /// The number of damaged entries, and the first errors.
    package var damagedEntries = 0
    package var damage: [CacheError] = []
    /// Journaled writes, which are among the entries but not in the file.
    package var pendingWrites = 0
    /// Descriptions of what could not be read.
    package var notices: [String] = []

    fileprivate static let greatestErrors = 100
  }

  /// Verifies the database of a cache as opening it would, without changing anything.
  ///
  /// While others write, a state stays intact until their second commit; after that the read is retried. If all
  /// attempts fail, entries are read in small parts, each from its own state. That verifies the pages leading to
  /// entries, but neither the list of free pages nor that no entries are missing.
  ///
  /// - Parameters:
  ///   - checksValues: Whether to verify the checksums of all entries and values.
  ///   - isCancelled: Called before each entry; the report then covers the entries so far.
  /// - Returns: The findings; all counts are 0 for a directory without a database.
  /// - Throws: `.damagedDatabase`, with a `DataFileFinding` as `underlying` for structural damage; `.corruptedRecord`
  ///   for another kind of database; `.unsupportedVersion`; `.permissionDenied` and other read errors.
  package static func verify(
    directory: URL, checksValues: Bool = false, isCancelled: () -> Bool = { false }
  ) throws -> Report {
    let path = directory.path
    let activity = "Verifying the cache in \(path)"
    var report = Report()
    let opened = try calling(activity) { () throws(SystemError) in try Directory(existing: path) }
    guard let opened else { return report }
    let check = SoundnessCheck(directory: opened, activity: activity)
    try check.requireBelievable()
    if case .examined(let examination) = try check.examine(unlessMarkedSound: false) {
      try SoundnessCheck.judge(examination, opened)
      guard case .sound(let file, _) = examination else { return report }
      guard let file else { return report }
      report.file = file
    }
    guard let reader = try CacheReader(directory: directory, isExamined: report.file != nil) else { return report }
    if checksValues {
      try compareValues(reader, &report, isCancelled)
    } else if report.file == nil {
      try reader.forEachPage(all: true) { entries in
        report.entries += entries.count
        return true
      }
    }
    let figures = try reader.figures()
    if let file = report.file, figures.database.transactionID > file.transactionID {
      report.transactionsMeanwhile = Int(clamping: figures.database.transactionID - file.transactionID)
    }
    report.pendingWrites = figures.pendingWrites
    report.notices = reader.notices
    return report
  }

  private static func compareValues(
    _ reader: CacheReader, _ report: inout Report, _ isCancelled: () -> Bool
  ) throws {
    var (found, damaged): (Int, Int) = (0, 0)
    var damage: [CacheError] = []
    try reader.forEachRecord(selection: .all) { error in
      damaged += 1
      if damage.count < Report.greatestErrors { damage.append(error) }
    } _: { _ in
      found += 1
      return !isCancelled()
    }
    report.entries = found + damaged
    report.values = found + damaged
    report.damagedEntries = damaged
    report.damage = damage
  }
}
