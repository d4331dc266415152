import Foundation
import LMDBCaching
import TestSupport

final class KillSession {
  private let directory: String
  private let durability: Durability
  private let seed: UInt64
  private var random: SeededRandom
  private var contents: [String: KillValue] = [:]
  private var writers = 0

  init(_ directory: String, _ durability: Durability, _ seed: UInt64) {
    self.directory = directory
    self.durability = durability
    self.seed = seed
    random = SeededRandom(seed)
  }

  func run(cycles: Int, _ report: inout TrialReport) throws {
    var load = KillLoad.random(&random, directory: directory, durability: durability)
    let reader = try ChildProcess("soak", ["role", KillReaderRole.name, load.text], ending: .endOfInput)
    if reader.readLine() != "open" { report.fail("a reader did not open the cache: \(load.title)") }
    // In every other session this process also has the cache open, and may replay what dead writers left.
    load = KillLoad.random(&random, directory: directory, durability: durability)
    let own = random.below(2) == 0 ? try load.open() : nil
    for cycle in 0..<cycles {
      let load = KillLoad.random(&random, directory: directory, durability: durability)
      let faults = try self.cycle(load, own, &report)
      for fault in faults { report.fail("session \(seed), cycle \(cycle) (\(load.title)): \(fault)") }
      if !faults.isEmpty { break }
    }
    try own?.close()
    reader.endInput()
    let watch = Watchdog(reader, seconds: 60)
    for line in reader.readRemaining() {
      let words = line.split(separator: " ")
      if words[0] == "done" {
        report.count("reads meanwhile", Int(words[1]) ?? 0)
        report.count("longest read, µs", max(0, (Int(words[2]) ?? 0) - report["longest read, µs"]))
      } else {
        report.fail("session \(seed), reader: \(line)")
      }
    }
    if watch.isOver() { return report.fail("session \(seed): the reader is stuck") }
    let cache = try load.open()
    var contents = try KillContents(cache)
    try contents.checkValueLog(of: cache)
    for fault in contents.faults { report.fail("session \(seed), at the end: \(fault)") }
    try cache.close()
  }

  private func cycle(_ load: KillLoad, _ own: LMDBCache?, _ report: inout TrialReport) throws -> [String] {
    var load = load
    var children: [(process: ChildProcess, load: KillLoad)] = []
    for _ in 0..<1 + random.below(3) {
      load.writer = writers
      writers += 1
      children.append((try ChildProcess("soak", ["role", KillWriterRole.name, load.text]), load))
    }
    for child in children where child.process.readLine() != "opening" { return ["a writer did not start"] }
    // One writer may die first: the others replay its journal, and get killed at that.
    let isTogether = random.below(2) == 0
    usleep(UInt32(5_000 + random.below(random.below(4) == 0 ? 5_000 : 90_000)))
    var judged: [KillJudge.Writer] = []
    for (index, child) in children.enumerated() {
      if index > 0 && !isTogether { usleep(UInt32(random.below(40_000))) }
      child.process.signal(SIGKILL)
    }
    for child in children {
      let answers = child.process.readRemaining()
      child.process.kill()
      if let failure = answers.first(where: { Int($0) == nil }) { return ["a writer \(failure)"] }
      judged.append(KillJudge.Writer(load: child.load, acknowledged: (answers.last.flatMap { Int($0) } ?? -1) + 1))
    }
    report.count("kills", children.count)
    report.count("acknowledged writes", judged.reduce(0) { $0 + $1.acknowledged })
    if own == nil && KillTraces.isWriterMutexAbandoned(directory) {
      report.count("kills in a write transaction, at least")
    }
    report.count("journals left", KillTraces.journals(directory))
    report.count("segments of values left", KillTraces.segments(directory))

    if random.below(3) == 0 { try killReplayer(load, &report) }

    let dump = try ChildProcess("soak", ["role", KillDumpRole.name, load.text])
    let watch = Watchdog(dump, seconds: 60)
    let found = KillContents { dump.readLine() }
    if watch.isOver() { return ["a process that opens the cache is stuck"] }
    guard let found else { return ["a process that opens the cache ended"] }
    var faults = found.faults + KillJudge(writers: judged, before: contents).faults(in: found.values)
    if let own {
      // Without a wait: the other process has already seen it.
      let mine = try KillContents(own)
      faults += mine.faults.map { "here: \($0)" }
      if mine.values != found.values { faults.append("this process sees something else than the one that just opened") }
    }
    contents = found.values
    report.count("entries compared", contents.count)
    return faults
  }

  /// Kills a process while it replays the journal.
  private func killReplayer(_ load: KillLoad, _ report: inout TrialReport) throws {
    let replayer = try ChildProcess("soak", ["role", KillDumpRole.name, load.text])
    // Startup takes most of this time.
    usleep(UInt32(random.below(30_000)))
    replayer.kill()
    if KillTraces.journals(directory) > 0 { report.count("kills of a process that had not replayed all") }
    report.count("kills of a process that replays")
  }
}
