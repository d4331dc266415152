import Foundation

/// The page of `top` for a sample, as lines of text.
struct TopPage {
  let sample: TopSample
  /// `nil` for no curves.
  var history: TopHistory?
  var columns = 80

  var lines: [String] { [title, ""] + requests + [""] + latencies + [""] + sizes + [""] + processes }

  private var title: String {
    let count = sample.processes.count
    let processes = count == 1 ? "1 process" : "\(Formatting.grouped(count)) processes"
    return "\(Formatting.key(sample.directory))  \(processes)  \(Formatting.date(sample.date))"
  }

  // MARK: Requests

  private var requests: [String] {
    let overall = sample.overallHitRatio.map { ", \(Formatting.percentage($0)) overall" } ?? ""
    let watched = [
      line("hit ratio", sample.hitRatio.map(Formatting.percentage) ?? "-", overall),
      line("reads/s", ["reads"], [("memory", "memoryHits"), ("disk", "diskHits"), ("missed", "misses")]),
      line("writes/s", ["sets", "removals"], [("sets", "sets"), ("removals", "removals")]),
    ]
    return withCurves(watched) + [
      line("loads/s", ["loads"], [("failed", "failedLoads"), ("stale served", "staleServed")]),
      line(
        "dropped/s", ["memoryEvictions", "diskEvictions", "expirations"],
        [("memory", "memoryEvictions"), ("disk", "diskEvictions"), ("expired", "expirations")]),
      line("commits/s", ["commits"], [("writes", "committedWrites"), ("failed", "failedCommits")]),
    ]
  }

  /// A line with the sum of some rates, and others in detail.
  private func line(_ name: String, _ summed: [String], _ details: [(label: String, name: String)]) -> String {
    guard let rates = sample.perSecond else { return line(name, "-", "") }
    func text(_ names: [String]) -> String { Formatting.rate(names.reduce(0) { $0 + rates.sum($1) }) }
    return line(name, text(summed), ": " + details.map { "\($0.label) \(text([$0.name]))" }.joined(separator: ", "))
  }

  private func line(_ name: String, _ value: String, _ detail: String) -> String {
    Formatting.padded(name, 10) + Formatting.padded(value, -9) + detail
  }

  /// Adds aligned curves to the lines of hits, reads and writes.
  private func withCurves(_ lines: [String]) -> [String] {
    guard let history else { return lines }
    let start = 2 + (lines.map(\.count).max() ?? 0)
    return zip(lines, [(history.hitRatios, 1), (history.reads, nil), (history.writes, nil)]).map { line, curve in
      let bars = Sparkline.text(curve.0, width: columns - start, greatest: curve.1)
      return bars.isEmpty ? line : Formatting.padded(line, start) + bars
    }
  }

  // MARK: Latencies

  private var latencies: [String] {
    var table = TextTable([.left, .right, .right, .right, .right])
    table.append(["latency", "p50", "p99", "p50 overall", "p99 overall"])
    for (label, name) in [
      ("memory hit", "memoryHits"), ("disk read", "diskReads"), ("set", "sets"), ("load", "loads"),
      ("commit", "commits"),
    ] {
      let times = [sample.latencies[name], sample.overallLatencies[name]].flatMap {
        [$0?.p50Nanoseconds, $0?.p99Nanoseconds]
      }
      table.append([label] + times.map { $0.map(Formatting.time(nanoseconds:)) ?? "-" })
    }
    return Self.lines(of: table)
  }

  // MARK: Sizes

  private var sizes: [String] {
    var table = TextTable([.left, .right, .left, .left])
    table.append([
      "memory", Formatting.grouped(sample.memoryEntries), "entries", "cost \(Formatting.grouped(sample.memoryCost))",
    ])
    table.append([
      "disk", sample.diskEntries.map { Formatting.grouped($0) } ?? "-", "entries",
      "cost \(sample.diskCost.map { Formatting.grouped($0) } ?? "-")",
    ])
    return Self.lines(of: table) + [
      "files   database \(Formatting.bytes(sample.databaseBytes)), values \(Self.size(sample.valueBytes)), "
        + "journals \(Self.size(sample.journalBytes))"
    ]
  }

  private static func size(_ bytes: Int?) -> String { bytes.map { Formatting.bytes($0) } ?? "-" }

  // MARK: Processes

  private var processes: [String] {
    var lines: [String] = []
    if sample.processes.isEmpty {
      lines.append("No process has the cache open, or has had it open for a second.")
    } else {
      var table = TextTable([.right, .left, .right, .right, .right, .right, .right, .right, .right, .left])
      table.append(["PID", "NAME", "OPEN", "HITS", "READS/S", "WRITES/S", "LOADS/S", "MEMORY", "WAITING", ""])
      for process in sample.processes { table.append(Self.row(process)) }
      lines = Self.lines(of: table)
    }
    if sample.unreadableProcesses > 0 {
      let count = Formatting.grouped(sample.unreadableProcesses)
      lines.append("\(count) more whose statistics cannot be read, or are of another version")
    }
    return lines
  }

  private static func row(_ process: TopProcess) -> [String] {
    func rate(_ names: String...) -> String {
      process.perSecond.map { rates in Formatting.rate(names.reduce(0) { $0 + rates.sum($1) }) } ?? "-"
    }
    return [
      "\(process.process)", String(Formatting.key(process.name).prefix(20)),
      Formatting.age(seconds: process.openSeconds),
      process.hitRatio.map(Formatting.percentage) ?? "-",
      rate("reads"), rate("sets", "removals"), rate("loads"),
      Formatting.grouped(process.memoryEntries), Formatting.bytes(process.journalUsed),
      process.isHealthy ? "" : "not committing",
    ]
  }

  private static func lines(of table: TextTable) -> [String] {
    table.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
  }
}

/// A row of bars with heights by number.
enum Sparkline {
  private static let blocks = Array("▁▂▃▄▅▆▇█")
  private static let letters = Array("_.-~:=+#")

  /// Whether the terminal uses Unicode, by the usual variables.
  static let isUnicode: Bool = {
    let environment = ProcessInfo.processInfo.environment
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    let name = locale.lowercased()
    return name.contains("utf-8") || name.contains("utf8")
  }()

  /// The last numbers that fit; unknown ones leave a gap.
  ///
  /// - Parameter greatest: The number of the highest bar; `nil` for the greatest number shown.
  static func text(_ numbers: [Double?], width: Int, greatest: Double? = nil, isUnicode: Bool = isUnicode) -> String {
    let shown = numbers.suffix(max(0, width))
    let top = greatest ?? shown.lazy.compactMap(\.self).max() ?? 0
    let bars = isUnicode ? blocks : letters
    return String(
      shown.map { number -> Character in
        guard let number, number.isFinite else { return " " }
        if top <= 0 { return bars[0] }
        let part = min(max(number / top, 0), 1)
        return bars[min(bars.count - 1, Int(part * Double(bars.count)))]
      })
  }
}
