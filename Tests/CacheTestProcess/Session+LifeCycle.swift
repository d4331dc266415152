import Foundation
import LMDBCaching
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

extension Session {
  /// storm DIRECTORY ROUNDS TRIMS: threads open, read, write and close; each opening must see all acknowledged writes.
  func storm(_ directory: String, rounds: Int, trims: Bool) -> String {
    let storm = Storm(directory, trims: trims)
    concurrently(Storm.threads) { thread in
      for round in 0..<rounds {
        storm.attempt("round \(round) of \(thread)") { try storm.pass(thread, round) }
      }
    }
    storm.attempt("at the end") {
      let cache = try storm.open()
      for thread in 0..<Storm.threads {
        for key in ["t\(thread)"] + (0..<Storm.fillers).map({ "f\(thread)/\($0)" }) {
          try storm.expect(cache, key, rounds - 1, "at the end")
        }
      }
      let (count, expected) = (try cache.count, Storm.threads * (Storm.fillers + 1))
      if count != expected { storm.fail("\(count) entries are counted, and not \(expected)") }
      try cache.close()
    }
    return storm.answer
  }

  /// relay DIRECTORY ROUNDS TRIMS: one thread closes the only cache with writes pending; others open the directory.
  func relay(_ directory: String, rounds: Int, trims: Bool) throws -> String {
    let storm = Storm(directory, trims: trims)
    for round in 0..<rounds {
      let cache = try storm.open()
      for filler in 0..<1_500 { try cache.set(round, forKey: "f\(filler)") }
      try cache.set(round, forKey: "last")
      let group = DispatchGroup()
      if trims { storm.trim(cache, group) }
      for opener in 0..<2 {
        inBackground(group) {
          storm.attempt("round \(round)") {
            while cache.health.isHealthy {}
            let next = try storm.open()
            for key in ["last", "f0"] { try storm.expect(next, key, round, "round \(round), an opening") }
            try next.set(round, forKey: "opener \(opener)")
            try next.set(-round, forKey: "f\(opener + 1)")
            try next.close()
          }
        }
      }
      try cache.close()
      group.wait()
      let after = try storm.open()
      for (key, value) in [("last", round), ("opener 0", round), ("opener 1", round), ("f1", -round), ("f2", -round)] {
        try storm.expect(after, key, value, "round \(round)")
      }
      try after.close()
    }
    return storm.answer
  }

  #if os(Linux)
    /// filelimit BYTES: limits the size of files.
    func limitFiles(_ size: Int) -> String {
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      limit.rlim_cur = rlim_t(size)
      return setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 ? "ok" : "no limit"
    }
  #endif
}

/// Threads on one directory, and what they find wrong.
private final class Storm: Sendable {
  static let threads = 4
  static let fillers = 150
  private let directory: String
  private let trims: Bool
  /// The last acknowledged round of each thread.
  private let acknowledged = Guarded([Int](repeating: -1, count: threads))
  private let failures = Guarded<[String]>([])

  init(_ directory: String, trims: Bool) {
    self.directory = directory
    self.trims = trims
  }

  func fail(_ text: String) { failures { $0.append(text) } }

  func attempt(_ what: String, _ body: () throws -> Void) {
    do { try body() } catch { fail("\(what): \(error)") }
  }

  func expect(_ cache: LMDBCache, _ key: String, _ value: Int, _ what: String) throws {
    let found = try cache.value(Int.self, forKey: key)
    if found != value { fail("\(what): \(key) is \(found ?? -1), and not \(value)") }
  }

  var answer: String {
    let failures = failures.current
    return failures.isEmpty ? "ok" : "\(failures.count) failures: " + failures.prefix(4).joined(separator: "; ")
  }

  func open() throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 30
    // Leaves a commit for the close.
    configuration.disk.groupCommitInterval = .seconds(3_600)
    return try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration)
  }

  /// Trims by an age that no entry has. The cache may already be closed.
  func trim(_ cache: LMDBCache, _ group: DispatchGroup) {
    inBackground(group) { [self] in
      do throws(CacheError) { try cache.trim(to: .age(.seconds(3_600))) } catch {
        if error.code != .closed { fail("a trim: \(error)") }
      }
    }
  }

  func pass(_ thread: Int, _ round: Int) throws {
    let before = acknowledged.current
    let cache = try open()
    for other in 0..<Self.threads {
      let value = try cache.value(Int.self, forKey: "t\(other)") ?? -1
      if value < before[other] { fail("round \(round) of \(thread): \(value) of \(other), after \(before[other])") }
    }
    for filler in 0..<Self.fillers { try cache.set(round, forKey: "f\(thread)/\(filler)") }
    let group = DispatchGroup()
    if trims && thread == 0 { trim(cache, group) }
    try cache.set(round, forKey: "t\(thread)")
    acknowledged { $0[thread] = round }
    // Otherwise its release closes it.
    if (round + thread) % 4 > 0 { try cache.close() }
    group.wait()
  }
}
