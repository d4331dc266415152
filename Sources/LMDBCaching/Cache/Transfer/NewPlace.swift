import Foundation
import Platform

/// The place of a new cache: an unused name, or an empty directory, in an existing directory.
struct NewPlace {
  let parent: Directory
  let name: String

  /// - Throws: `.invalidDirectory` if the place is taken; `.invalidArgument` unless it is a file URL.
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

  func isWithin(_ directory: Directory) -> Bool {
    parent.path == directory.path || parent.path.hasPrefix(directory.path == "/" ? "/" : directory.path + "/")
  }
}
