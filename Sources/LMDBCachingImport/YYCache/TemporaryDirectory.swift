import Foundation
import Platform

/// A directory that nobody else uses, which goes with the object.
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
      // With access for this user alone.
      return (parent, try parent.makeSubdirectory(name))
    }
  }

  deinit {
    // It stays where it cannot be removed: as after the death of the process, the system's cleaner of such files takes it.
    do throws(SystemError) { try parent.removeTree(name) } catch {}
  }
}
