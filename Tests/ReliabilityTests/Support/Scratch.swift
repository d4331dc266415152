import Foundation

/// A temporary directory, removed with the object.
final class Scratch: Sendable {
  let path: String

  init() throws {
    // Without symbolic links, since the trials compare paths.
    path = URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path + "/trial-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
