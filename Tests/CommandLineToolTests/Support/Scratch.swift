import Foundation

/// A temporary directory, removed with the object.
final class Scratch: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("lmdb-cache-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of a cache that does not exist yet.
  var cache: String { path("cache") }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
  }

  func file(_ name: String, _ contents: Data) throws -> String {
    try contents.write(to: url.appendingPathComponent(name))
    return path(name)
  }
}
