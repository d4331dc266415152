import Dispatch
import Foundation
import LMDBCaching
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

extension Session {
  /// One thread's part of ``storm(_:rounds:trims:)``, and its findings.
  private final class Storm: Sendable {
    static let threads = 4
    static let fillers = 150
    /// The last acknowledged round of each thread.
    let acknowledged = Mutex([Int](repeating: -1, count: threads))
    let failures = Mutex<[String]>([])

    func fail(_ text: String) { failures.withLock { $0.append(text) } }
  }

  /// storm DIRECTORY ROUNDS TRIMS: threads open, read, write and close; each opening must see all acknowledged writes.
  func storm(_ directory: String, rounds: Int, trims: Bool) -> String {
    let storm = Storm()
    let group = DispatchGroup()
    for thread in 0..<Storm.threads {
      group.enter()
      Thread {
        for round in 0..<rounds {
          do {
            try Self.pass(storm, directory, thread, round, trims)
          } catch {
            storm.fail("round \(round) of \(thread): \(error)")
          }
        }
        group.leave()
      }.start()
    }
    group.wait()
    do {
      let cache = try Self.stormCache(directory)
      for thread in 0..<Storm.threads {
        if try cache.value(Int.self, forKey: "t\(thread)") != rounds - 1 { storm.fail("the last of \(thread) is lost") }
        for filler in 0..<Storm.fillers where try cache.value(Int.self, forKey: "f\(thread)/\(filler)") != rounds - 1 {
          storm.fail("filler \(filler) of \(thread) is lost")
        }
      }
      let expected = Storm.threads * (Storm.fillers + 1)
      if try cache.count != expected { storm.fail("\(try cache.count) entries are counted, and not \(expected)") }
      try cache.close()
    } catch {
      storm.fail("at the end: \(error)")
    }
    let failures = storm.failures.withLock { $0 }
    return failures.isEmpty ? "ok" : "\(failures.count) failures: " + failures.prefix(4).joined(separator: "; ")
  }

  /// relay DIRECTORY ROUNDS TRIMS: one thread closes the only cache with writes pending; others open the directory.
  func relay(_ directory: String, rounds: Int, trims: Bool) throws -> String {
    let storm = Storm()
    var written = 0
    for round in 0..<rounds {
      let cache = try Self.stormCache(directory)
      for filler in 0..<1_500 { try cache.set(round, forKey: "f\(filler)") }
      try cache.set(round, forKey: "last")
      let group = DispatchGroup()
      func start(_ body: @escaping @Sendable () throws -> Void) {
        group.enter()
        Thread {
          do { try body() } catch { storm.fail("round \(round): \(error)") }
          group.leave()
        }.start()
      }
      if trims {
        start {
          // Matches no entry, and may come too late.
          do throws(CacheError) { try cache.trim(to: .age(.seconds(3_600))) } catch {
            if error.code != .closed { throw error }
          }
        }
      }
      for opener in 0..<2 {
        start {
          while cache.health.isHealthy {}
          let next = try Self.stormCache(directory)
          let (last, filler) = (try next.value(Int.self, forKey: "last"), try next.value(Int.self, forKey: "f0"))
          if last != round || filler != round {
            storm.fail("round \(round): \(last ?? -1) and \(filler ?? -1) after an opening")
          }
          try next.set(round, forKey: "opener \(opener)")
          try next.set(-round, forKey: "f\(opener + 1)")
          try next.close()
        }
      }
      try cache.close()
      group.wait()
      let after = try Self.stormCache(directory)
      for (key, value) in [("last", round), ("opener 0", round), ("opener 1", round), ("f1", -round), ("f2", -round)] {
        let found = try after.value(Int.self, forKey: key)
        if found != value { storm.fail("round \(round): \(key) is \(found ?? -1)") }
        written += 1
      }
      try after.close()
    }
    let failures = storm.failures.withLock { $0 }
    return failures.isEmpty && written > 0
      ? "ok" : "\(failures.count) failures: " + failures.prefix(4).joined(separator: "; ")
  }

  private static func stormCache(_ directory: String) throws -> LMDBCache {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 30
    // Leaves a commit for the close.
    configuration.disk.groupCommitInterval = .seconds(3_600)
    return try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration)
  }

  private static func pass(
    _ storm: Storm, _ directory: String, _ thread: Int, _ round: Int, _ trims: Bool
  ) throws {
    let before = storm.acknowledged.withLock { $0 }
    let cache = try stormCache(directory)
    for other in 0..<Storm.threads {
      let value = try cache.value(Int.self, forKey: "t\(other)") ?? -1
      if value < before[other] {
        storm.fail("round \(round) of \(thread) sees \(value) of \(other), which had been told \(before[other])")
      }
    }
    for filler in 0..<Storm.fillers { try cache.set(round, forKey: "f\(thread)/\(filler)") }
    let trim = DispatchGroup()
    if trims && thread == 0 {
      trim.enter()
      Thread {
        // Matches no entry, and may come too late.
        do throws(CacheError) { try cache.trim(to: .age(.seconds(3_600))) } catch {
          if error.code != .closed { storm.fail("a trim: \(error)") }
        }
        trim.leave()
      }.start()
    }
    try cache.set(round, forKey: "t\(thread)")
    storm.acknowledged.withLock { $0[thread] = round }
    try cache.close()
    trim.wait()
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
