import CacheModel
import FormatFixtures
import Foundation
import LMDB
import LMDBCaching
import Logging
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

// A child process for cache tests. It reads commands from standard input, one per line with words separated by spaces,
// and answers each with one line (loops: one per write). Flushed answers acknowledge writes even if it is killed.

func answer(_ text: String) {
  FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

final class Session {
  var cache: LMDBCache?
  /// The manual clock of a cache opened with one.
  var manual: ManualClock?

  func opened() throws(CacheError) -> LMDBCache {
    guard let cache else { throw CacheError(.closed, "open comes first") }
    return cache
  }

  /// open DIRECTORY [name=value …]
  func open(_ words: [Substring]) throws {
    var configuration = CacheConfiguration()
    configuration.disk = .unlimited
    configuration.disk.mapSize = 1 << 30
    configuration.logger = Logger(label: "child", factory: { _ in SwiftLogNoOpLogHandler() })
    for word in words.dropFirst(2) {
      let parts = word.split(separator: "=").map(String.init)
      apply(parts[0], parts[1], in: String(words[1]), to: &configuration)
    }
    Stage.shared.expect(configuration)
    cache = try LMDBCache(directory: URL(fileURLWithPath: String(words[1])), configuration: configuration)
    Stage.shared.enter(cache)
  }

  /// Suspends this process within a write transaction, and commits it when resumed.
  func stopWriting() throws {
    var options = Environment.Options()
    options.syncMode = .noMetaSync
    // Returns the environment that the cache has open.
    let environment = try Environment.open(directory: opened().directory.path, options: options)
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    answer("stopping")
    raise(SIGSTOP)
    try transaction.commit()
  }

  /// Suspends this process while it holds the lock for opening a directory.
  func stopOpening(_ directory: String) throws {
    let descriptor = Foundation.open(directory, O_RDONLY | O_DIRECTORY)
    guard flock(descriptor, LOCK_EX) == 0 else { throw CacheError(.storageFailed, "flock") }
    answer("stopping")
    raise(SIGSTOP)
    Foundation.close(descriptor)
  }

  /// fixture KIND DIRECTORY: writes fixture files, which stay open as if the process were killed.
  func writeFixture(_ kind: String, to path: String) throws {
    let directory = URL(fileURLWithPath: path, isDirectory: true)
    switch kind {
    case "cache": cache = try CacheFixture.write(to: directory)
    case "garage":
      try withExtendedLifetime(GarageFixture.write(to: directory)) { _ = kill(getpid(), SIGKILL) }
    case "transformed":
      #if Compression && Encryption
        try TransformedFixture.write(to: directory)
      #else
        throw CacheError(.invalidArgument, "Build it with the traits Compression and Encryption.")
      #endif
    default: throw CacheError(.invalidArgument, "\(kind) is no fixture.")
    }
    kill(getpid(), SIGKILL)
  }

  func run(_ words: [Substring]) throws -> String {
    func text(_ index: Int) -> String { String(words[index]) }
    func number(_ index: Int) -> Int { Int(words[index])! }
    switch words[0] {
    case "open": try open(words)
    case "fixture": try writeFixture(text(1), to: text(2))
    case "set": try opened().set(text(2), forKey: text(1))
    case "write": try opened().write(waitsForCommit: true) { $0.set(text(2), forKey: text(1)) }
    case "batch": try opened().write { $0.set(text(2), forKey: text(1)) }
    case "range":
      for index in number(2)..<number(3) {
        let key = text(1) + String(index)
        try opened().set(payload(key, index, number(4)), forKey: key)
        answer(String(index))
      }
    case "batches":
      // batches KEY KEY COUNT: each batch has one number under both keys.
      for index in 0..<number(3) {
        try opened().write(waitsForCommit: true) { batch in for key in 1...2 { batch.set(index, forKey: text(key)) } }
      }
    case "get": return try opened().value(String.self, forKey: text(1)) ?? "nil"
    case "count": return try String(opened().count)
    case "remove": try opened().removeValue(forKey: text(1))
    case "removeall": try opened().removeAll()
    case "removetag": try opened().removeAll(.tag(text(1)))
    case "removeprefix": try opened().removeAll(.prefix(text(1)))
    case "flush": try opened().flush()
    case "stopwriting": try stopWriting()
    case "stopopening": try stopOpening(text(1))
    case "health":
      let health = try opened().health
      if case .memoryOnly(let error) = health { return "memoryOnly \(error.code)" }
      return health.isHealthy ? "healthy" : "closed"
    case "snapshot":
      // Holds a snapshot until the next line.
      return try opened().read { snapshot in
        answer("held")
        _ = readLine()
        return try snapshot.value(String.self, forKey: text(1)) ?? "nil"
      }
    case "close":
      Stage.shared.enter(nil)
      try opened().close()
      cache = nil
    default: return try runMetrics(words) ?? runPromise(words)
    }
    return "ok"
  }
}

if CommandLine.arguments.count > 1, CommandLine.arguments[1] == "model" {
  try ModelChild.serve(Array(CommandLine.arguments.dropFirst(2)))
  exit(0)
}
let session = Session()
while let line = readLine() {
  let words = line.split(separator: " ")
  if words.first == "exit" { exit(0) }
  do {
    answer(try session.run(words))
  } catch let error as CacheError {
    answer("error \(error.code)")
  } catch {
    answer("error \(error)")
  }
}
