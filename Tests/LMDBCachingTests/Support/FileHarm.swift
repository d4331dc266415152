import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Ways to harm an open cache's files.
enum FileHarm: String, CaseIterable, Sendable {
  case data, lockFile, both, journal, processLock, everything, theDirectory, replacedData, replacedPair
  case replacedDirectory, truncated

  /// Whether it loses committed data.
  var empties: Bool { ![.lockFile, .journal, .processLock].contains(self) }

  func happen(to directory: CacheDirectory, _ other: CacheDirectory) throws {
    let files = FileManager.default
    func remove(_ names: String...) throws { for name in names { try files.removeItem(at: directory.url(name)) } }
    switch self {
    case .data: try remove("data.mdb")
    case .lockFile: try remove("lock.mdb")
    case .both: try remove("data.mdb", "lock.mdb")
    case .journal: for journal in directory.journals { try remove(journal) }
    case .processLock: try remove(ProcessLock.name)
    case .everything: try remove("data.mdb", "lock.mdb", ProcessLock.name, JournalName.folder)
    case .theDirectory: try files.removeItem(atPath: directory.path)
    case .replacedData: try Paths.move(other.path + "/data.mdb", to: directory.path + "/data.mdb")
    case .replacedPair:
      for name in ["data.mdb", "lock.mdb"] {
        try Paths.move(other.path + "/" + name, to: directory.path + "/" + name)
      }
    case .replacedDirectory:
      try files.moveItem(atPath: directory.path, toPath: directory.path + ".old")
      try files.moveItem(atPath: other.path, toPath: directory.path)
      try files.removeItem(atPath: directory.path + ".old")
    case .truncated: try #require(truncate(directory.path + "/data.mdb", 8192) == 0)
    }
  }
}
