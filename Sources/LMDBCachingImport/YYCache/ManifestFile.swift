import Foundation
import Platform

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
