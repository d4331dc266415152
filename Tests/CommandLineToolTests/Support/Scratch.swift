import Foundation
import LMDBCaching
import Testing

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

  /// Writes a file, and creates its parent directories.
  @discardableResult func file(_ name: String, _ contents: Data) throws -> String {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try contents.write(to: file)
    return file.path
  }

  func delete(_ name: String) throws { try FileManager.default.removeItem(atPath: path(name)) }

  /// Runs a command of the tool with this cache, after a double dash with `last`.
  func run(_ words: String..., last: String? = nil, input: Data = Data()) async throws -> ToolResult {
    try await Tool.run(words + ["--cache", cache] + (last.map { ["--", $0] } ?? []), input: input)
  }

  /// A cache that this process has open.
  func open() throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 26
    return try LMDBCache(directory: URL(fileURLWithPath: cache), configuration: configuration)
  }

  /// Opens the cache for `body`, and closes it.
  func fill(_ configuration: CacheConfiguration = CacheConfiguration(), _ body: (LMDBCache) throws -> Void) throws {
    let cache = try LMDBCache(directory: URL(fileURLWithPath: self.cache), configuration: configuration.withoutMemory)
    try body(cache)
    try cache.close()
  }

  /// Fills the cache with `key:1000` and so on.
  func fill(_ count: Int, cost: Int? = nil) throws {
    try fill { cache in
      for number in 1_000..<1_000 + count { try cache.set("value \(number)", forKey: "key:\(number)", cost: cost) }
    }
  }
}
