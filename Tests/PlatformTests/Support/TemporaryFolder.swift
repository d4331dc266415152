import Foundation
import Platform

/// A temporary directory, removed with the object.
final class TemporaryFolder: Sendable {
  let directory: Directory
  var path: String { directory.path }

  init() {
    let parent = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    directory = try! Directory(path: parent.path + "/platform-test-\(UUID().uuidString)", creating: true)
  }

  deinit { try! FileManager.default.removeItem(atPath: path) }

  func write(_ text: String, to name: String) throws(SystemError) {
    try directory.create(name, .emptying).write(Array(text.utf8))
  }

  func text(of name: String) throws(SystemError) -> String? {
    guard let file = try directory.open(name) else { return nil }
    return String(decoding: try file.readToEnd(limit: 1 << 20), as: UTF8.self)
  }
}

extension Directory {
  /// Opens and closes a file; `false` if it does not exist.
  func opens(_ name: String, _ access: File.Access = .reading, requiresOneName: Bool = false) throws(SystemError)
    -> Bool
  {
    guard let file = try open(name, access, requiresOneName: requiresOneName) else { return false }
    return file.descriptor > 2
  }

  /// Creates and closes a file.
  func makes(_ name: String, _ creation: File.Creation = .ifMissing) throws(SystemError) {
    let file = try create(name, creation)
    precondition(file.descriptor > 2)
  }
}

func failure(_ body: () throws(SystemError) -> Void) -> SystemError? {
  do throws(SystemError) {
    try body()
    return nil
  } catch { return error }
}
