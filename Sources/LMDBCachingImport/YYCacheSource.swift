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

/// A YYCache database, opened without changing any file.
///
/// SQLite writes next to a database even to read it, unless the database is declared immutable. This type does so
/// without a write-ahead log; otherwise it opens a copy of the database and the log.
///
/// SQLite never sees a rollback journal, because it deletes any file that a journal names as its super-journal.
final class ManifestFile {
  static let name = "manifest.sqlite"
  static let journal = name + "-journal"
  private static let log = name + "-wal"
  private static let attempts = 4

  let database: SQLiteDatabase
  private let directory: Directory
  private let copy: TemporaryDirectory?
  private let before: State

  private struct State: Equatable {
    let file: FileStatus
    let log, journal: FileStatus?

    var hasLog: Bool { (log?.size ?? 0) > 0 }
  }

  /// Whether there is a rollback journal. YYCache does not write any.
  var hasJournal: Bool { (before.journal?.size ?? 0) > 0 }

  init(in directory: Directory, lengthLimit: Int) throws(ImportError) {
    self.directory = directory
    let path = directory.path(of: Self.name)
    var state = try Self.state(in: directory)
    var copy: TemporaryDirectory?
    if state.hasLog {
      copy = try TemporaryDirectory()
      state = try Self.copy(from: directory, to: copy!)
    }
    before = state
    self.copy = copy
    do throws(SQLiteError) {
      database = try SQLiteDatabase(
        path: copy.map { $0.directory.path(of: Self.name) } ?? path, copy == nil ? .immutable : .recovering,
        lengthLimit: lengthLimit)
    } catch {
      throw Self.failure(error, path)
    }
  }

  /// The largest possible number of rows, each of at least eight bytes.
  var greatestRowCount: Int { before.file.size / 8 }

  static func failure(_ error: SQLiteError, _ path: String) -> ImportError {
    error.isDamage
      ? ImportError(.damagedSource, "\(path) is no sound SQLite database.", underlying: error)
      : ImportError(.unreadableSource, "\(path) cannot be read.", underlying: error)
  }

  /// Whether the database changed since it was opened, so that rows may come from several states.
  func hasChanged() throws(ImportError) -> Bool {
    if copy != nil { return false }
    return try Self.state(in: directory) != before
  }

  private static func state(in directory: Directory) throws(ImportError) -> State {
    let path = directory.path(of: name)
    return try reading(path) { () throws(SystemError) in
      // Opened to detect links and other kinds of files.
      guard let file = try directory.open(name) else { throw SystemError("openat", path, errno: ENOENT) }
      return State(
        file: try file.status(), log: try directory.open(log)?.status(), journal: try directory.open(journal)?.status())
    }
  }

  /// Copies the database and its write-ahead log consistently.
  private static func copy(from directory: Directory, to copy: TemporaryDirectory) throws(ImportError) -> State {
    for _ in 0..<attempts {
      let before = try state(in: directory)
      for name in [name, log] {
        try reading(directory.path(of: name)) { () throws(SystemError) in
          try copy.directory.remove(name)
          guard let file = try directory.open(name) else { return }
          try copy.directory.create(name, .exclusively).writeSparsely(file)
        }
      }
      if try state(in: directory) == before { return before }
    }
    throw ImportError(
      .sourceInUse, "\(directory.path) is written to by a program. End it, or import from a copy of the directory.")
  }
}

/// The rows of YYCache's manifest, in SQLite's order.
///
/// Unreadable rows are skipped, up to one whose number is unreadable.
final class ManifestRows {
  struct Row {
    let number: Int64
    let key: SQLiteStatement.Text
    let file: SQLiteStatement.Text
    let size: Int?
    let inlineLength: Int
    /// Seconds since 1970.
    let modified: Int64?
    let lastAccess: Int64?
    let extendedLength: Int
  }

  enum Found {
    case row(Row)
    case unreadable(Int64, SQLiteError)
  }

  private static let columns = [
    "key", "filename", "size", "inline_data", "modification_time", "last_access_time", "extended_data",
  ]
  // These read no value: SQLite knows a blob's length without it.
  private static let row = """
    SELECT rowid, key, filename, size, length(inline_data), modification_time, last_access_time, length(extended_data) \
    FROM main.manifest WHERE rowid > ?1
    """

  private let file: ManifestFile
  private let path: String
  private let rows: SQLiteStatement
  private let following: SQLiteStatement
  private let value: SQLiteStatement
  private var last = Int64.min

  init(_ file: ManifestFile, _ path: String) throws(ImportError) {
    self.file = file
    self.path = path
    let database = file.database
    let reason: String?
    do throws(SQLiteError) {
      reason = try Self.foreignness(of: database)
    } catch {
      throw ManifestFile.failure(error, path)
    }
    if let reason { throw ImportError(.foreignSource, "\(path) is no manifest of YYCache: \(reason).") }
    do throws(SQLiteError) {
      rows = try database.prepare(Self.row + " ORDER BY rowid")
      following = try database.prepare("SELECT rowid FROM main.manifest WHERE rowid > ?1 ORDER BY rowid LIMIT 1")
      value = try database.prepare("SELECT inline_data FROM main.manifest WHERE rowid = ?1")
      try rows.restart(.min)
    } catch {
      throw ManifestFile.failure(error, path)
    }
  }

  /// The reason why the database is not YYCache's; `nil` if it may be.
  private static func foreignness(of database: SQLiteDatabase) throws(SQLiteError) -> String? {
    let tables = try database.prepare("SELECT type, sql FROM main.sqlite_master WHERE name = 'manifest'")
    guard try tables.step() else { return "it has no table of this name" }
    guard case .text("table") = tables.text(0), case .text(let definition) = tables.text(1),
      !definition.uppercased().hasPrefix("CREATE VIRTUAL")
    else { return "what has this name is no table of its own" }
    if definition.uppercased().contains("WITHOUT ROWID") { return "the table has no numbers of rows" }
    let information = try database.prepare("PRAGMA main.table_xinfo(manifest)")
    var found: Set<String> = []
    while try information.step() {
      // Computed columns may contain anything.
      if case .text(let name) = information.text(1), information.integer(6) == 0 { found.insert(name.lowercased()) }
    }
    if found.contains("rowid") { return "a column hides the numbers of the rows" }
    let missing = columns.filter { !found.contains($0) }
    return missing.isEmpty ? nil : "the table has no \(missing.joined(separator: ", "))"
  }

  /// The number of rows; `nil` if unknown, which does not prevent reading.
  func count() -> Int? {
    do throws(SQLiteError) {
      // Cyclic pages would give endless rows.
      let statement = try file.database.prepare("SELECT count(*) FROM (SELECT 1 FROM main.manifest LIMIT ?1)")
      try statement.restart(Int64(file.greatestRowCount))
      return try statement.step() ? statement.integer(0).map { Int($0) } : nil
    } catch {
      return nil
    }
  }

  /// The value in a row; `nil` for none.
  func inlineData(of row: Row) throws(SQLiteError) -> Data? {
    try value.restart(row.number)
    return try value.step() ? try value.data(0) : nil
  }

  /// - Throws: If the following rows cannot be found, or at the end if the database has changed.
  func next() throws(ImportError) -> Found? {
    var failure = Self.disorder
    var isEnd = false
    do throws(SQLiteError) {
      isEnd = try !rows.step()
      if !isEnd, let row = Self.row(of: rows), row.number > last {
        last = row.number
        return .row(row)
      }
    } catch {
      failure = error
    }
    if isEnd {
      guard try file.hasChanged() else { return nil }
      throw ImportError(
        .sourceInUse, "\(path) was written to while it was read. End the program that uses it, and import again.")
    }
    do throws(SQLiteError) {
      if let number = try numberFollowing(last), number > last {
        try rows.restart(number)
        last = number
        return .unreadable(number, failure)
      }
    } catch {
      // The same damage at the next row's place.
    }
    throw ImportError(
      .damagedSource,
      "\(path) is damaged: rows after row \(last == .min ? 0 : last) could not be read. Earlier ones were.",
      underlying: failure)
  }

  private func numberFollowing(_ number: Int64) throws(SQLiteError) -> Int64? {
    try following.restart(number)
    return try following.step() ? following.integer(0) : nil
  }

  private static let disorder = SQLiteError(code: 11, message: "rows are not in their order")

  private static func row(of statement: SQLiteStatement) -> Row? {
    guard let number = statement.integer(0) else { return nil }
    return Row(
      number: number, key: statement.text(1), file: statement.text(2), size: statement.integer(3).map { Int($0) },
      inlineLength: statement.integer(4).map { Int($0) } ?? 0, modified: statement.integer(5),
      lastAccess: statement.integer(6), extendedLength: statement.integer(7).map { Int($0) } ?? 0)
  }
}

/// A private temporary directory, removed with the object.
final class TemporaryDirectory {
  let directory: Directory
  private let parent: Directory
  private let name: String

  init() throws(ImportError) {
    let path = FileManager.default.temporaryDirectory.path
    let name = "lmdb-cache-import-" + UUID().uuidString
    self.name = name
    (parent, directory) = try reading(path) { () throws(SystemError) in
      let parent = try Directory(path: path)
      // Accessible to this user only.
      return (parent, try parent.makeSubdirectory(name))
    }
  }

  deinit {
    // If it cannot be removed, the system cleans it up later, as after a crash.
    do throws(SystemError) { try parent.removeTree(name) } catch {}
  }
}
