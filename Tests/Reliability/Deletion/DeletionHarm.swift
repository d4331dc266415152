import Foundation

/// Damage to the files of an open cache.
enum DeletionHarm: String, CaseIterable {
  case data = "data.mdb deleted"
  case lockFile = "lock.mdb deleted"
  case both = "data.mdb and lock.mdb deleted"
  case journals = "journals deleted"
  case processLock = "processes.lock deleted"
  case everything = "every file deleted"
  case directory = "directory deleted"
  case replacedData = "data.mdb replaced"
  case replacedPair = "data.mdb and lock.mdb replaced"

  /// - Parameter other: The directory of a closed cache, the source of replacement files.
  func happen(to path: String, _ other: String) {
    let files = FileManager.default
    // Errors are ignored: the file may already be gone.
    func remove(_ name: String) { try? files.removeItem(atPath: path + "/" + name) }
    func replace(_ name: String) { rename(other + "/" + name, path + "/" + name) }
    switch self {
    case .data: remove("data.mdb")
    case .lockFile: remove("lock.mdb")
    case .both:
      remove("data.mdb")
      remove("lock.mdb")
    case .journals: remove("journals")
    case .processLock: remove("processes.lock")
    case .everything:
      for name in (try? files.contentsOfDirectory(atPath: path)) ?? [] { remove(name) }
    case .directory: try? files.removeItem(atPath: path)
    case .replacedData: replace("data.mdb")
    case .replacedPair:
      replace("data.mdb")
      replace("lock.mdb")
    }
  }
}
