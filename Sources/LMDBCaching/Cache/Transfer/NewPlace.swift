import Foundation
import Platform

/// Where a cache is to be made that is not there: a name that nothing has, or an empty directory, in a directory that is.
struct NewPlace {
  let parent: Directory
  let name: String

  /// - Throws: `.invalidDirectory` if there is something; `.invalidArgument` for no file URL.
  init(_ url: URL) throws(CacheError) {
    guard url.isFileURL else {
      throw CacheError(.invalidArgument, "\(url) is no file URL; make one with URL(fileURLWithPath:).")
    }
    let url = url.standardizedFileURL
    name = url.lastPathComponent
    let parentPath = url.deletingLastPathComponent().path
    let parent = try calling("Looking at \(parentPath)") { () throws(SystemError) in try Directory(existing: parentPath)
    }
    guard let parent else {
      throw CacheError(.invalidDirectory, "There is no directory \(parentPath). Make it first; nothing was changed.")
    }
    self.parent = parent
    try requireNothing()
  }

  /// A directory that was looked at.
  init(parent: Directory, name: String) {
    self.parent = parent
    self.name = name
  }

  var path: String { parent.path(of: name) }

  private func requireNothing() throws(CacheError) {
    let isFree = try calling("Looking at \(path)") { () throws(SystemError) in
      switch try parent.kind(of: name) {
      case nil: true
      case .directory: try parent.subdirectory(name).map { (found) throws(SystemError) in try found.isEmpty() } ?? true
      default: false
      }
    }
    if !isFree {
      throw CacheError(
        .invalidDirectory, "There is something at \(path). Give the path of a new directory; nothing was changed.")
    }
  }

  /// Whether it is in a directory, or deeper in it.
  func isWithin(_ directory: Directory) -> Bool {
    parent.path == directory.path || parent.path.hasPrefix(directory.path == "/" ? "/" : directory.path + "/")
  }
}
