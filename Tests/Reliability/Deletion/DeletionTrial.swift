import Foundation
import LMDBCaching
import TestSupport

package enum DeletionTrial: Trial {
  package static let name = "deletion"
  package static let summary =
    "Files are deleted or replaced while two processes use them: no crash, one file again, nothing lost afterwards."
  package static let defaultCount = 300

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var trial = Run(settings)
    return try trial.run()
  }

  private struct Run {
    let settings: TrialSettings
    let path: String
    var random: SeededRandom
    var report = TrialReport()
    var number = 0

    init(_ settings: TrialSettings) {
      self.settings = settings
      path = settings.directory + "/cache"
      random = SeededRandom(settings.seed)
    }

    mutating func run() throws -> TrialReport {
      var cache = try TrialCache.open(path) { $0.disk.groupCommitInterval = .milliseconds(2) }
      var peer = try start()
      for round in 0..<settings.count {
        let harm = DeletionHarm.all[random.below(DeletionHarm.all.count)]
        try harmWhileWriting(harm, cache, peer, round)
        meet(harm, cache, peer, round)
        keep(harm, cache, peer, round)
        report.count("rounds")
        report.count(harm.description)
        if report.failureCount > 10 { break }
        switch random.below(6) {
        case 0:
          peer.kill()
          peer = try start()
          report.count("processes killed")
        case 1:
          try cache.close()
          cache = try TrialCache.open(path) { $0.disk.groupCommitInterval = .milliseconds(2) }
          report.count("caches closed")
        default: break
        }
      }
      report.count("reopenings", cache.statistics.reopenings)
      try cache.close()
      if peer.run("close") != "ok" { report.fail("the other process did not close") }
      return report
    }

    private func start() throws -> ChildProcess {
      let peer = try ChildProcess("soak", ["role", DeletionTrial.name, path])
      guard peer.readLine() == "open" else {
        throw CacheError(.storageFailed, "The other process does not open the cache.")
      }
      return peer
    }

    /// Writes from both processes, with the damage somewhere in between.
    private mutating func harmWhileWriting(
      _ harm: DeletionHarm, _ cache: LMDBCache, _ peer: ChildProcess, _ round: Int
    ) throws {
      let other = settings.directory + "/other"
      if !harm.replaced.isEmpty {
        let made = try TrialCache.open(other)
        for index in 0..<random.below(30) { try made.set("\(index)", forKey: "p\(index)") }
        try made.close()
      }
      let count = 50 + random.below(400)
      peer.send("burst p \(number) \(count)")
      let (path, delay) = (path, UInt32(random.below(3_000)))
      let group = DispatchGroup()
      inBackground(group) {
        usleep(delay)
        harm.happen(to: path, other)
      }
      for index in number..<number + count {
        do {
          try cache.set("\(index)", forKey: "m\(index)")
          check(try cache.value(String.self, forKey: "m\(number + random.below(count))"), "m", round)
          check(try cache.value(String.self, forKey: "p\(number + random.below(count))"), "p", round)
        } catch {
          report.fail("round \(round), \(harm): a write or a read failed: \(error)")
        }
      }
      group.wait()
      let answer = peer.readLine()
      if answer != "ok" { report.fail("round \(round), \(harm): the other process: \(answer ?? "crashed")") }
      number += count
      report.count("writes", 2 * count)
      try? FileManager.default.removeItem(atPath: other)
    }

    private mutating func check(_ value: String?, _ prefix: String, _ round: Int) {
      report.count("reads")
      if let value, Int(value) == nil { report.fail("round \(round): a value \(value) that nobody wrote") }
    }

    private mutating func meet(_ harm: DeletionHarm, _ cache: LMDBCache, _ peer: ChildProcess, _ round: Int) {
      let start = ContinuousClock.now
      let hasMet = eventually(within: .seconds(10)) {
        guard (try? cache.set("\(round)", forKey: "mine")) != nil, peer.run("set its \(round)") == "ok" else {
          return false
        }
        usleep(20_000)
        guard peer.run("get mine") == "\(round)", (try? cache.value(String.self, forKey: "its")) == "\(round)" else {
          return false
        }
        // The first flush reports the loss of writes made while the directory was missing.
        return (try? cache.flush()) != nil && peer.run("flush") == "ok"
      }
      let milliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
      if !hasMet { report.fail("round \(round), \(harm): the processes are not in one file after 10 s") }
      report.countMost("longest way to one file, ms", milliseconds)
    }

    private mutating func keep(_ harm: DeletionHarm, _ cache: LMDBCache, _ peer: ChildProcess, _ round: Int) {
      let (first, count) = (number, 30)
      do {
        for index in first..<first + count { try cache.set("\(index)", forKey: "m\(index)") }
        if peer.run("burst p \(first) \(count)") != "ok" { report.fail("round \(round), \(harm): writing after it") }
        try cache.flush()
        let flushed = peer.run("flush")
        if flushed != "ok" { report.fail("round \(round), \(harm): flushing after it: \(flushed ?? "crashed")") }
        for index in first..<first + count {
          let value = try cache.value(String.self, forKey: "p\(index)")
          if value != "\(index)" { report.fail("round \(round), \(harm): p\(index) is \(value ?? "lost")") }
          let answer = peer.run("get m\(index)")
          if answer != "\(index)" { report.fail("round \(round), \(harm): m\(index) is \(answer ?? "lost")") }
        }
        // Two concurrent writers would have lost one of the counts.
        let (kept, entries) = try (cache.count, try cache.entries().count)
        if kept != entries { report.fail("round \(round), \(harm): \(entries) entries are counted as \(kept)") }
        report.count("entries checked", 2 * count)
      } catch {
        report.fail("round \(round), \(harm): \(error)")
      }
      number += count
    }
  }
}

/// Damage to the files of an open cache.
private struct DeletionHarm: CustomStringConvertible {
  var deleted: [String] = []
  /// The replacements come from a closed cache.
  var replaced: [String] = []

  static let all = [
    DeletionHarm(deleted: ["data.mdb"]), DeletionHarm(deleted: ["lock.mdb"]),
    DeletionHarm(deleted: ["data.mdb", "lock.mdb"]), DeletionHarm(deleted: ["journals"]),
    DeletionHarm(deleted: ["processes.lock"]), DeletionHarm(deleted: TrialCache.fileNames.sorted()),
    // The directory.
    DeletionHarm(deleted: [""]), DeletionHarm(replaced: ["data.mdb"]),
    DeletionHarm(replaced: ["data.mdb", "lock.mdb"]),
  ]

  var description: String { "deleted \(deleted), replaced \(replaced)" }

  /// - Parameter other: The directory of a closed cache, the source of replacement files.
  func happen(to path: String, _ other: String) {
    // Errors are ignored: the file may already be gone.
    for name in deleted { try? FileManager.default.removeItem(atPath: name.isEmpty ? path : path + "/" + name) }
    for name in replaced { rename(other + "/" + name, path + "/" + name) }
  }
}

/// Another process that has the cache open: `set KEY VALUE`, `get KEY`, `burst PREFIX FIRST COUNT`, `flush`, `close`.
extension DeletionTrial: TrialRole {
  package static func run(_ arguments: [String]) throws {
    let cache = try TrialCache.open(arguments[0]) { $0.disk.groupCommitInterval = .milliseconds(2) }
    answer("open")
    while let line = readLine() {
      let words = line.split(separator: " ").map(String.init)
      do {
        answer(try perform(words, cache))
      } catch {
        answer("error \(error)")
      }
      if words.first == "close" { return }
    }
  }

  private static func perform(_ words: [String], _ cache: LMDBCache) throws -> String {
    switch words[0] {
    case "set": try cache.set(words[2], forKey: words[1])
    case "get": return try cache.value(String.self, forKey: words[1]) ?? "nil"
    case "burst":
      let first = Int(words[2])!
      for number in first..<first + Int(words[3])! { try cache.set("\(number)", forKey: words[1] + "\(number)") }
    case "flush": try cache.flush()
    case "close": try cache.close()
    default: return "unknown"
    }
    return "ok"
  }
}
