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
    case .sqliteDatabase: Self.sqlite
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

  /// A database of one empty page.
  private static let sqlite: Data = {
    var page = [UInt8](repeating: 0, count: 4_096)
    page.replaceSubrange(0..<16, with: Array("SQLite format 3\0".utf8))
    // Page size, versions, payload fractions, one page, a leaf of the schema table.
    page.replaceSubrange(16..<24, with: [0x10, 0, 1, 1, 0, 64, 32, 32])
    page[31] = 1
    page[47] = 4
    page[59] = 1
    page[100] = 0x0D
    page[105] = 0x10
    return Data(page)
  }()
}
