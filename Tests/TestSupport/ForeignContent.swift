package import Foundation

/// User content that a cache directory might contain, partly under names that a cache uses too.
package enum ForeignContent: String, CaseIterable, Sendable {
  case note = "notes.txt"
  case hiddenFile = ".profile"
  case folder = "photos/beach.jpg"
  case new = "new/letter.txt"
  case values = "values/photo.jpg"
  case journals = "journals/diary.journal"
  case cleanExit = "clean-exit"
  case processLock = "processes.lock"
  case fastSession = "fast-session"
  case newFastSession = "fast-session.new"
  case textDatabase = "data.mdb"
  case sqliteDatabase = "data.mdb (SQLite)"
  case emptyDatabase = "data.mdb (empty)"
  case databaseFolder = "data.mdb/table.csv"
  case lockFile = "lock.mdb"
  case quarantine = "quarantine-2024/report.txt"
  case truncatedDatabase = "data.mdb.truncated"

  /// Its path in the directory.
  package var path: String { rawValue.split(separator: " ").first.map(String.init) ?? rawValue }

  package var bytes: Data {
    switch self {
    case .sqliteDatabase: Data("SQLite format 3\0".utf8) + Data(count: 4_080)
    case .emptyDatabase: Data()
    default: Data("The user's own, in \(rawValue).\n".utf8) + Data((0..<200).map { UInt8($0) })
    }
  }

  /// Creates it, with an old date.
  package func place(in directory: String) throws {
    let file = URL(fileURLWithPath: directory).appendingPathComponent(path)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try bytes.write(to: file)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)], ofItemAtPath: file.path)
  }
}
