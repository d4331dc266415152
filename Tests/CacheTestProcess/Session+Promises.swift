import Platform
import Foundation
import LMDBCaching
import Logging
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

extension Session {
  func runPromise(_ words: [Substring]) throws -> String {
    func text(_ index: Int) -> String { String(words[index]) }
    func number(_ index: Int) -> Int { Int(words[index])! }
    switch words[0] {
    case "die": kill(getpid(), SIGKILL)
    case "increment":
      // increment KEY COUNT: answers each sum.
      for _ in 0..<number(2) { answer(try String(opened().increment(forKey: text(1)))) }
    case "increments":
      // increments KEY COUNT: answers once.
      for _ in 0..<number(2) { try opened().increment(forKey: text(1)) }
    case "loads":
      // loads PREFIX COUNT THREADS: answers how many keys it had to load.
      return try String(loads(text(1), number(2), threads: number(3)))
    case "slowload":
      // slowload KEY: the load lasts until the next line.
      return try opened().value(String.self, forKey: text(1)) { _ in
        answer("loading")
        let line = readLine() ?? "ended"
        if line == "fail" { throw CacheError(.storageFailed, "It failed.") }
        return line
      }
    case "absent":
      // absent PREFIX COUNT: answers how many keys it set first.
      return try String((0..<number(2)).count { try opened().set(getpid(), forKey: text(1) + "\($0)", if: .absent) })
    case "boot": BootIdentifier.simulate(boot: UInt64(number(1)))
    case "umask": umask(mode_t(number(1)))
    case "cost": return try String(opened().totalCost)
    case "keys": return try opened().entries().map(\.key).joined(separator: ",")
    case "contains": return try String(opened().contains(text(1)))
    case "setfor": try opened().set(text(2), forKey: text(1), expires: .after(DurationWord.duration(text(3))))
    case "big": try opened().set(Data(repeating: 0x61, count: number(2)), forKey: text(1))
    case "isbig":
      guard let data = try opened().value(Data.self, forKey: text(1)) else { return "nil" }
      return data == Data(repeating: 0x61, count: number(2)) ? "ok" : "wrong"
    case "forget": try opened().memory.removeAll()
    case "trimcount": try opened().trim(to: .count(number(1)))
    case "trimcost": try opened().trim(to: .cost(number(1)))
    case "trimage": try opened().trim(to: .age(DurationWord.duration(text(1))))
    case "trimlimits": try opened().disk.trim(to: .limits)
    case "sweep": try opened().sweepValues()
    case "maintain":
      // Runs the timer's work, and then a later job on the same thread.
      manual!.advance(by: .seconds(61))
      try opened().betweenCommits {}
    case "settle":
      // The failure is over; the commit is retried after a pause. A closed cache stays closed.
      let cache = try opened()
      _ = eventually {
        if case .closed = cache.health { return true }
        return (try? cache.flush()) != nil
      }
      try cache.flush()
    case "advance": manual!.advance(by: DurationWord.duration(text(1)))
    case "key": return try useKey(length: number(1))
    case "refusedkey": return try useLongKey(length: number(1))
    case "autotrim": try opened().disk.autoTrimInterval = DurationWord.duration(text(1))
    case "memoryautotrim": try opened().memory.autoTrimInterval = DurationWord.duration(text(1))
    case "agelimit":
      try opened().disk.ageLimit = DurationWord.duration(text(1))
      try opened().memory.ageLimit = DurationWord.duration(text(1))
    case "memorytrimage": try opened().memory.trim(to: .age(DurationWord.duration(text(1))))
    case "batchfor":
      try opened().write { $0.set(text(2), forKey: text(1), expires: .after(DurationWord.duration(text(3)))) }
    case "values":
      if words.count > 2 { try Stage.shared.begin(Stage.Action(rawValue: text(2))!, in: opened().directory.path) }
      return try useActingValues(asynchronously: text(1) == "true")
    case "acted": return Stage.shared.report()
    case "loseData":
      try FileManager.default.removeItem(at: opened().directory.appendingPathComponent("data.mdb"))
    #if os(Linux)
      case "huge": return try useHugeValue(number(1))
      case "filelimit":
        signal(SIGXFSZ, SIG_IGN)
        return limit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), to: number(1))
    #endif
    default: return "unknown command"
    }
    return "ok"
  }

  /// An option of `open`.
  func apply(_ name: String, _ word: String, in directory: String, to configuration: inout CacheConfiguration) {
    let number = Int(word) ?? 0
    switch name {
    case "durability": configuration.durability = Durability(rawValue: UInt8(number))!
    case "interval": configuration.disk.groupCommitInterval = .milliseconds(number)
    case "threshold": configuration.disk.inlineThreshold = number
    case "journal": configuration.disk.journalSize = number
    case "map": configuration.disk.mapSize = number
    case "locktimeout": configuration.disk.lockTimeout = .milliseconds(number)
    case "log":
      Stage.shared.begin(Stage.Action(rawValue: word)!, in: directory)
      configuration.logger = Logger(label: "child", factory: { _ in ActingLog() })
    case "every": configuration.disk.groupCommitInterval = DurationWord.duration(word)
    // A stopped clock with the given wall time and, after a colon, the monotonic one.
    case "clock", "wall":
      let times = word.split(separator: ":").map { Int64($0)! }
      let clock = ManualClock(now: times[0] - (times.count > 1 ? times[1] : 0))
      if times.count > 1 { clock.advance(by: .nanoseconds(times[1])) }
      manual = clock
      configuration.clock = .manual(clock)
    default: fatalError("unknown option \(name)")
    }
  }

  /// Threads request the keys, each in its own order.
  private func loads(_ prefix: String, _ count: Int, threads: Int) throws -> Int {
    let cache = try opened()
    let before = cache.statistics.loads
    let failure = Guarded<(any Error)?>(nil)
    concurrently(threads) { thread in
      do {
        for index in 0..<count {
          let key = prefix + String((index &* 7919 &+ thread &* 31) % count)
          let value = try cache.value(String.self, forKey: key) { _ in
            usleep(200)
            return key
          }
          if value != key { throw CacheError(.storageFailed, "\(key): \(value)") }
        }
      } catch {
        failure { $0 = error }
      }
    }
    if let failure = failure.current { throw failure }
    return cache.statistics.loads - before
  }
}

/// Durations as command words: nanoseconds, or an extreme.
private enum DurationWord {
  static func duration(_ word: String) -> Duration {
    switch word {
    case "max-s": .seconds(Int64.max)
    case "max-ns": .nanoseconds(Int64.max)
    case "min-s": .seconds(Int64.min)
    case "min-ns": .nanoseconds(Int64.min)
    default: .nanoseconds(Int64(word)!)
    }
  }
}
