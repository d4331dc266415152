import TestSupport
import Testing

func cacheProcess() throws -> ChildProcess { try ChildProcess("CacheTestProcess") }

/// Whether another process has the cache open, so that conditional writes are transactions.
enum Company: CaseIterable, Sendable {
  case none
  case process

  /// The other process ends with the result.
  func join(_ directory: CacheDirectory) throws -> ChildProcess? {
    if self == .none { return nil }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    return child
  }
}
