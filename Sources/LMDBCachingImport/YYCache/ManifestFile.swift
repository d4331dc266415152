import Foundation
import Platform

/// The database of a YYCache, opened without changing anything in its directory.
///
/// SQLite makes files beside a database that it opens, also for reading. It makes none where it is told that the file does
/// not change: so that is what it is told where no log belongs to the file. Otherwise the file is copied with its log, and
/// the copy opened.
final class ManifestFile {
  static let name = "manifest.sqlite"
  /// The write-ahead log, and that of the older way.
  private static let logs = [name + "-wal", name + "-journal"]
  private static let attempts = 4

  let database: SQLiteDatabase
  private let directory: Directory
  private let copy: TemporaryDirectory?
  private let before: State

  private struct State: Equatable {
    let file: FileStatus
    let logs: [FileStatus?]

    var hasLog: Bool { logs.contains { ($0?.size ?? 0) > 0 } }
  }

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

  /// How many rows are in it at most: none has fewer than eight bytes.
  var greatestRowCount: Int { before.file.size / 8 }

  static func failure(_ error: SQLiteError, _ path: String) -> ImportError {
    error.isDamage
      ? ImportError(.damagedSource, "\(path) is no sound SQLite database.", underlying: error)
      : ImportError(.unreadableSource, "\(path) cannot be read.", underlying: error)
  }

  /// Whether somebody has written to the database since it was opened: what was read of it may be of several states.
  func hasChanged() throws(ImportError) -> Bool {
    if copy != nil { return false }
    return try Self.state(in: directory) != before
  }

  private static func state(in directory: Directory) throws(ImportError) -> State {
    let path = directory.path(of: name)
    return try reading(path) { () throws(SystemError) in
      // Opened for what it says of links and of what else is no file.
      guard let file = try directory.open(name) else { throw SystemError("openat", path, errno: ENOENT) }
      var found: [FileStatus?] = []
      for log in logs { found.append(try directory.open(log)?.status()) }
      return State(file: try file.status(), logs: found)
    }
  }

  /// Copies the database and its logs as of one moment.
  private static func copy(from directory: Directory, to copy: TemporaryDirectory) throws(ImportError) -> State {
    for _ in 0..<attempts {
      let before = try state(in: directory)
      for name in [name] + logs {
        try reading(directory.path(of: name)) { () throws(SystemError) in
          try copy.directory.remove(name)
          guard let file = try directory.open(name) else { return }
          let copied = try copy.directory.create(name, .exclusively)
          try copied.write(0..<file.status().size, of: file)
        }
      }
      if try state(in: directory) == before { return before }
    }
    throw ImportError(
      .sourceInUse, "\(directory.path) is written to by a program. End it, or import from a copy of the directory.")
  }
}
