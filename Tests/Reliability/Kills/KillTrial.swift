import Foundation
import LMDBCaching
import TestSupport

package struct KillTrial: Trial {
  package static let name = "kills"
  package static let summary =
    "Writers are killed at any moment: nothing acknowledged is lost or counted twice, nothing is wrong or stuck."
  package static let defaultCount = 500

  private let directory: String
  private let durability: Durability
  private let clears: Bool
  /// Names the session in failures.
  private let title: String
  private var random: SeededRandom
  private var report: TrialReport
  private var contents: [String: WrittenValue] = [:]
  private var writers = 0

  /// Ten cycles share a directory, so that each starts from the leftovers of the earlier ones.
  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    for (number, done) in stride(from: 0, to: settings.count, by: 10).enumerated() where report.failureCount < 20 {
      let seed = random.next()
      let durability = Durability.allCases[number % Durability.allCases.count]
      let before = report.failureCount
      var session = KillTrial(
        directory: settings.directory + "/\(done)", durability: durability, clears: random.below(4) == 0,
        title: "session \(seed) (.\(durability))", random: SeededRandom(seed), report: report)
      try session.run(cycles: min(10, settings.count - done), isWatched: number % 2 == 0)
      report = session.report
      // Keep the directory of a failed round.
      if report.failureCount == before { try FileManager.default.removeItem(atPath: session.directory) }
    }
    return report
  }

  private mutating func load() -> WriterLoad {
    .random(&random, directory: directory, durability: durability, clears: clears)
  }

  /// - Parameter isWatched: Whether another process reads throughout. Otherwise a writer may be alone.
  private mutating func run(cycles: Int, isWatched: Bool) throws {
    let load = load()
    let reader = isWatched ? try ChildProcess("soak", ["role", KillReaderRole.name, load.text]) : nil
    if let reader, reader.readLine() != "open" { report.fail("\(title): a reader did not open the cache: \(load)") }
    // This process may have the cache open, too, and replay what dead writers left.
    let own = isWatched && random.below(2) == 0 ? try load.open() : nil
    for cycle in 0..<cycles {
      let load = self.load()
      let faults = try self.cycle(load, own)
      for fault in faults { report.fail("\(title), cycle \(cycle) (\(load)): \(fault)") }
      if !faults.isEmpty { break }
    }
    try own?.close()
    if let reader { end(reader) }
    let cache = try load.open()
    var contents = try WrittenContents(cache)
    try contents.checkValueLog(of: cache)
    for fault in contents.faults { report.fail("\(title), at the end: \(fault)") }
    try cache.close()
  }

  private mutating func end(_ reader: ChildProcess) {
    reader.endInput()
    let lines = Guarded<[String]>([])
    guard finishes({ lines { $0 = reader.readRemaining() } }) else {
      reader.kill()
      return report.fail("\(title): the reader is stuck")
    }
    report.add(lines.current, of: "\(title), reader")
  }

  private mutating func cycle(_ load: WriterLoad, _ own: LMDBCache?) throws -> [String] {
    var load = load
    var children: [(process: ChildProcess, load: WriterLoad)] = []
    for _ in 0..<[1, 1, 2, 3, 5][random.below(5)] {
      load.writer = writers
      writers += 1
      children.append((try ChildProcess("soak", ["role", KillWriterRole.name, load.text]), load))
    }
    for child in children where child.process.readLine() != "opening" { return ["a writer did not start"] }
    // One writer may die first: the others replay its journal, and get killed at that.
    let isTogether = random.below(2) == 0
    usleep(UInt32(5_000 + random.below(random.below(4) == 0 ? 5_000 : 90_000)))
    if random.below(3) == 0 {
      let child = children[random.below(children.count)]
      child.process.suspend()
      usleep(UInt32(random.below(30_000)))
      child.process.resume()
    }
    for (index, child) in children.enumerated() {
      if index > 0 && !isTogether { usleep(UInt32(random.below(40_000))) }
      child.process.signal(SIGKILL)
    }
    var judged: [KillJudge.Writer] = []
    for child in children {
      let answers = child.process.readRemaining()
      child.process.kill()
      if let failure = answers.first(where: { Int($0) == nil }) { return ["a writer \(failure)"] }
      judged.append(KillJudge.Writer(child.load, acknowledged: (answers.last.flatMap { Int($0) } ?? -1) + 1))
    }
    report.count("kills", children.count)
    report.count("acknowledged writes", judged.reduce(0) { $0 + $1.acknowledged })
    report.count("acknowledged additions", judged.reduce(0) { $0 + $1.states[0].sums.values.reduce(0, +) })
    let dumping = ["role", KillDumpRole.name, try load.text]
    if random.below(3) == 0 {
      // Kill a process while it replays the journal. Startup takes most of this time.
      let replayer = try ChildProcess("soak", dumping)
      usleep(UInt32(random.below(30_000)))
      replayer.kill()
      report.count("kills of a process that replays")
    }
    let dump = try BoundedProcess.run("soak", dumping)
    var lines = dump.answers.makeIterator()
    guard dump.isOrderly, let found = WrittenContents({ lines.next() }) else {
      return ["a process that opens the cache: \(dump.ending)"]
    }
    var faults = found.faults + KillJudge(writers: judged, before: contents).faults(in: found.values)
    if let own {
      // Without a wait: the other process has already seen it.
      let mine = try WrittenContents(own)
      faults += mine.faults.map { "here: \($0)" }
      if mine.values != found.values { faults.append("this process sees something else than the one that just opened") }
    }
    contents = found.values
    report.count("entries compared", contents.count)
    return faults
  }
}

/// Compares the cache after a cycle of kills with the acknowledged writes.
private struct KillJudge {
  struct Writer {
    let load: WriterLoad
    let acknowledged: Int
    /// After the acknowledged writes, and after one more, which may have taken effect.
    let states: [WriterState]

    init(_ load: WriterLoad, acknowledged: Int) {
      self.load = load
      self.acknowledged = acknowledged
      states = [0, 1].map { WriterState(load, count: acknowledged + $0) }
    }
  }

  let writers: [Writer]
  let before: [String: WrittenValue]

  func faults(in contents: [String: WrittenValue]) -> [String] {
    let clears = writers.indices.filter { writers[$0].states[1].clears > 0 }
    var faults: [String] = []
    for (index, writer) in writers.enumerated() {
      faults += ownFaults(writer, in: contents, isClearedByOthers: clears.contains { $0 != index })
    }
    /// Any of `values` may be under the key, or nothing if it was cleared.
    func expect(_ key: String, _ values: [WrittenValue?], _ occasion: String = "") {
      let values = clears.isEmpty ? values : values + [nil]
      if values.contains(contents[key]) { return }
      faults.append("\(key) is \(text(contents[key]))\(occasion), and not one of \(values.map(text))")
    }
    // Commits order the writes of several processes to one key: the last write of one of them stays.
    for key in (0..<WriterOperation.sharedKeys).map(WriterOperation.sharedKey) {
      let last: [WrittenValue?] = writers.flatMap { $0.states.compactMap { $0.last[key] } }
      expect(key, writers.contains { $0.states[0].last[key] != nil } ? last : last + [before[key]])
    }
    // No acknowledged addition is lost, and each other one counts once at most.
    for key in WriterOperation.sums {
      let additions = [0, 1].map { index in writers.reduce(0) { $0 + $1.states[index].sums[key, default: 0] } }
      let (least, sum) = (before[key]?.number ?? 0, contents[key]?.number ?? 0)
      let range = (clears.isEmpty ? least + additions[0] : 0)...least + additions[1]
      if !range.contains(sum) { faults.append("\(key) is \(sum), not in \(range)") }
    }
    let prefixes = writers.map { WriterOperation.ownPrefix($0.load.writer) } + ["shared/", WriterOperation.sumPrefix]
    for key in Set(before.keys).union(contents.keys) where !prefixes.contains(where: { key.hasPrefix($0) }) {
      expect(key, [before[key]], ", of a cycle before,")
    }
    return faults
  }

  /// A writer's own keys match the state after its last acknowledged write or after the next one, so batches and prefix
  /// removals are atomic.
  private func ownFaults(
    _ writer: Writer, in contents: [String: WrittenValue], isClearedByOthers: Bool
  ) -> [String] {
    let name = writer.load.writer
    let found = contents.filter { $0.key.hasPrefix(WriterOperation.ownPrefix(name)) }
    let expected = writer.states.map { $0.own(name) }
    if expected.contains(found) { return [] }
    // Another writer may have removed some keys; the rest must be current.
    if isClearedByOthers, expected.contains(where: { state in found.allSatisfy { state[$0.key] == $0.value } }) {
      return []
    }
    return Set(found.keys).union(expected[0].keys).sorted().filter { found[$0] != expected[0][$0] }.map {
      "writer \(name), \(writer.acknowledged) acknowledged: \($0) is \(text(found[$0])), not "
        + "\(text(expected[0][$0])) or \(text(expected[1][$0]))"
    }
  }

  private func text(_ value: WrittenValue?) -> String { value.map { "\($0.writer).\($0.number)" } ?? "nothing" }
}
