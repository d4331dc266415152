import ArgumentParser
import Foundation
import LMDBCaching

/// Counts the words of all texts below a directory, and caches the counts.
///
/// A second run reads only changed files. Concurrent runs share one cache, and each file is counted once.
@main
struct WordCount: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "word-count", abstract: "Counts the lines, words and characters of all texts below a directory.")

  @Argument(help: "The directory.", completion: .directory) var directory = "."
  @Option(help: "How many of the longest texts are listed.") var top = 5
  @Option(help: "The cache's directory. (default: word-count in the user's one for caches)", completion: .directory)
  var cache: String?

  func validate() throws {
    if top < 0 { throw ValidationError("--top is 0 or more.") }
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory.boolValue else {
      throw ValidationError("\(directory) is no directory.")
    }
  }

  func run() throws {
    let cache = try openCache()
    let month = LoadOptions(lifetime: .seconds(30 * 86_400))
    let clock = ContinuousClock()
    let start = clock.now
    var texts: [(path: String, count: TextCount)] = []
    var failures = 0

    func fail(_ url: URL, _ error: any Error) {
      failures += 1
      FileHandle.standardError.write(Data("word-count: \(url.path): \(error.localizedDescription)\n".utf8))
    }
    for file in try SourceFile.all(below: URL(fileURLWithPath: directory, isDirectory: true), failed: fail) {
      do {
        // A changed file has a new key. After a month, a file is counted again and a deleted one is forgotten.
        let count = try cache.value(TextCount.self, forKey: file.key, options: month) { _ in
          try TextCount(of: Data(contentsOf: file.url))
        }
        if count.isText { texts.append((file.path, count)) }
      } catch {
        fail(file.url, error)
      }
    }

    let time = start.duration(to: clock.now)
    let counted = cache.statistics.loads
    try cache.close()
    for text in texts.sorted(by: { $0.count.words > $1.count.words }).prefix(top) { print(text.count, text.path) }
    print(texts.reduce(TextCount()) { $0 + $1.count }, "in \(texts.count) texts")
    print("\(counted) files were read, what the others hold was known, in \(time)")
    if failures > 0 { throw ExitCode(1) }
  }

  private func openCache() throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.countLimit = 1_000_000
    if let cache {
      return try LMDBCache(directory: URL(fileURLWithPath: cache, isDirectory: true), configuration: configuration)
    }
    return try LMDBCache(name: "word-count", configuration: configuration)
  }
}
