import Foundation
import Platform

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
