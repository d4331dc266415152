import Foundation
import LMDBCaching
import Platform

/// A YYCache directory: a table of entries in `manifest.sqlite`, with their values or the names of value files in
/// `data`.
struct YYCacheSource: EntrySource {
  /// Longer than the cache's keys, which are refused with a reason.
  private static let greatestKey = 32 << 20

  private let rows: ManifestRows
  private let directory: Directory
  private let files: Directory?
  private let context: SourceContext
  private var current: ManifestRows.Row?
  private var remark: ImportRefusal?

  let count: Int?

  init(_ path: String, _ context: SourceContext) throws(ImportError) {
    directory = try reading(path) { () throws(SystemError) in try Directory(path: path) }
    files = try reading(path) { [directory] () throws(SystemError) in try directory.subdirectory("data") }
    // Includes space for a key.
    let manifest = try ManifestFile(in: directory, lengthLimit: context.maximumValueSize + Self.greatestKey)
    rows = try ManifestRows(manifest, directory.path(of: ManifestFile.name))
    self.context = context
    if manifest.hasJournal {
      remark = ImportRefusal(
        key: "",
        EntryFailure(
          .uncommittedChanges,
          "\(directory.path(of: ManifestFile.journal)) was ignored. Entries of the transaction that it would undo may "
            + "have been imported."))
    }
    count = rows.count()
  }

  mutating func next() throws(ImportError) -> SourceStep? {
    if let remark = remark.take() { return .remark(remark) }
    guard let found = try rows.next() else { return nil }
    switch found {
    case .unreadable(let row, let error):
      return .refused(
        ImportRefusal(key: "", EntryFailure(.unreadable, "Row \(row) of the manifest cannot be read: \(error)")))
    case .row(let row):
      guard case .text(let key) = row.key else {
        return .refused(
          ImportRefusal(
            key: "", EntryFailure(.unreadableKey, "The key of row \(row.number) of the manifest is no text.")))
      }
      current = row
      return .entry(
        SourceEntry(
          key: key, created: Self.nanoseconds(row.modified), lastAccess: Self.nanoseconds(row.lastAccess),
          remainder: row.extendedLength > 0
            ? EntryFailure(.extendedData, "It has \(row.extendedLength) bytes of extended data, which were not taken.")
            : nil))
    }
  }

  mutating func value() throws(EntryFailure) -> ImportedValue {
    guard let row = current else { preconditionFailure("There is no entry yet.") }
    let data: Data
    switch row.file {
    case .text(let name) where !name.isEmpty:
      guard let files else { throw EntryFailure(.missingValue, "The file of the value, \(name), is not there.") }
      data = try SourceFile.value(of: name, in: files, limit: context.maximumValueSize, size: row.size)
    case .other: throw EntryFailure(.foreignName, "The name of the value's file is no text.")
    case .null, .text: data = try inlineData(row)
    }
    return try ArchivedData.value(of: data, isUnarchivedByClosure: context.isUnarchivedByClosure)
  }

  private func inlineData(_ row: ManifestRows.Row) throws(EntryFailure) -> Data {
    guard row.inlineLength <= context.maximumValueSize else {
      throw EntryFailure(.tooLarge, "The value has \(row.inlineLength) bytes. Raise maximumValueSize.")
    }
    let data: Data?
    do throws(SQLiteError) {
      data = try rows.inlineData(of: row)
    } catch {
      throw EntryFailure(.unreadable, "The value cannot be read from the manifest: \(error)")
    }
    // YYCache returns no object for it either.
    guard let data, !data.isEmpty else {
      throw EntryFailure(.missingValue, "The manifest has no value, and no file for one.")
    }
    return data
  }

  /// Converts seconds since 1970; others are unknown.
  private static func nanoseconds(_ seconds: Int64?) -> Int64? {
    guard let seconds, seconds > 0 else { return nil }
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : product
  }
}
