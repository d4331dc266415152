package import Foundation
package import LMDB

import Platform

/// Tells whether a cache is sound, without opening it.
package enum CacheInspection {
  /// What was looked at, and what of it is not as it was written.
  package struct Report: Sendable {
    /// The database's file as of one committed state; `nil` if others commit faster than it can be read.
    package var file: VerifiedDataFile?
    /// Transactions that were committed while it was read: what they wrote was not looked at.
    package var transactionsMeanwhile = 0
    /// Entries that were read one by one, those included that have expired.
    package var entries = 0
    /// How many of them have a checksum that was compared, with that of their value.
    package var values = 0
    /// How many of them are damaged, and the errors of the first ones.
    package var damagedEntries = 0
    package var damage: [CacheError] = []
    /// Writes that wait in journals. They are among the entries, and not in the file.
    package var pendingWrites = 0
    /// What could not be looked at.
    package var notices: [String] = []

    /// How many errors are kept.
    fileprivate static let greatestErrors = 100
  }

  /// Verifies the database of a cache as opening it would, and changes nothing.
  ///
  /// While others write, a state is read that they do not write over as long as they commit no second transaction; it is
  /// tried again if they do. Where that comes to nothing, the entries are read in small parts, each of a state of its own:
  /// that says of every page on the way to an entry whether it is one, and nothing of the list of free pages, nor whether
  /// entries are missing.
  ///
  /// - Parameters:
  ///   - checksValues: Whether the checksums of all entries and of their values are compared.
  ///   - isCancelled: Asked before each entry; what is told then is of those before it.
  /// - Returns: What was found; for a directory without a database all numbers are 0.
  /// - Throws: `.damagedDatabase`, whose `underlying` is the `DataFileFinding` where the structure is damaged;
  ///   `.corruptedRecord` for a database that is no cache; `.unsupportedVersion`; `.permissionDenied` and others if the
  ///   files cannot be read.
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
