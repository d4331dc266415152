/// The operations on one key.
///
/// A write takes effect between its start and its commit, which is within the bound of its return; its own process sees
/// it at once. So one write is after another only if even the worst case says so.
struct KeyHistory {
  private struct Group {
    var process: UInt8
    var isCommitted: Bool
    var all: WriteIndex
    var sets: WriteIndex
    var removals: WriteIndex
  }

  let reads: [HistoryRecord]
  private let sets: [UInt64: HistoryRecord]
  private let groups: [Group]
  private let bound: Int64

  init(_ records: [HistoryRecord], bound: Int64) {
    self.bound = bound
    reads = records.filter { $0.kind == .read }
    let writes = records.filter { $0.kind != .read }
    sets = Dictionary(
      writes.filter { $0.kind != .remove }.map { ($0.value, $0) }, uniquingKeysWith: { first, _ in first })
    groups = Dictionary(grouping: writes) { [$0.process, $0.isCommitted ? 1 : 0] }.map { name, writes in
      Group(
        process: name[0], isCommitted: name[1] == 1, all: WriteIndex(writes),
        sets: WriteIndex(writes.filter { $0.kind != .remove }),
        removals: WriteIndex(writes.filter { $0.kind == .remove }))
    }
  }

  /// How long after its end a write may stay invisible to other processes.
  private func delay(isCommitted: Bool) -> Int64 { isCommitted ? 0 : bound }

  func check(_ findings: inout HistoryFindings) {
    for read in reads {
      if read.value == 0 {
        if let start = missedSet(read) {
          findings.note(.missing, read, "a value set \((read.start - start) / 1_000) µs before")
        }
        continue
      }
      guard let write = sets[read.value], write.start <= read.end else {
        findings.note(.phantom, read, "nobody had written it")
        continue
      }
      checkStaleness(read, write, &findings)
    }
    checkOrder(&findings)
  }

  private func checkStaleness(_ read: HistoryRecord, _ write: HistoryRecord, _ findings: inout HistoryFindings) {
    var staleness: Int64 = 0
    for group in groups {
      // When a write of this group certainly replaces the value.
      let moment =
        group.process == write.process ? write.end : write.end + delay(isCommitted: write.isCommitted)
      guard let end = group.all.earliestEnd(startingAfter: moment), end < read.start else { continue }
      let allowed = group.process == read.process ? 0 : delay(isCommitted: group.isCommitted)
      if read.start - end > allowed {
        return findings.note(
          .stale, read,
          "process \(group.process) had overwritten it \((read.start - end) / 1_000) µs before, \(allowed / 1_000) allowed"
        )
      }
      staleness = max(staleness, read.start - end)
    }
    if staleness > 0 { findings.staleness.append(staleness) }
  }

  /// The start of a set that a read missed when it found nothing.
  private func missedSet(_ read: HistoryRecord) -> Int64? {
    for group in groups {
      let allowed = group.process == read.process ? 0 : delay(isCommitted: group.isCommitted)
      guard let start = group.sets.latestStart(endingBefore: read.start - allowed) else { continue }
      let mayBeRemoved = groups.contains { remover in
        guard let end = remover.removals.latestEnd(startingBefore: read.end) else { return false }
        return end + (remover.process == group.process ? 0 : delay(isCommitted: remover.isCommitted)) >= start
      }
      if !mayBeRemoved { return start }
    }
    return nil
  }

  /// Detects a value that a process saw, then did not see, then saw again. Each value is written once.
  private func checkOrder(_ findings: inout HistoryFindings) {
    for (_, reads) in Dictionary(grouping: reads, by: \.process) {
      var windows: [UInt64: (from: Int64, to: Int64)] = [:]
      for read in reads where read.value != 0 {
        let window = windows[read.value] ?? (.max, .min)
        windows[read.value] = (min(window.from, read.end), max(window.to, read.start))
      }
      let spans = windows.filter { $0.value.from < $0.value.to }.sorted { $0.value.from < $1.value.from }
      var next = 0
      // The two longest spans, since one may belong to the value itself.
      var longest: [(value: UInt64, to: Int64)] = []
      for read in reads.sorted(by: { $0.start < $1.start }) {
        while next < spans.count, spans[next].value.from < read.start {
          longest.append((spans[next].key, spans[next].value.to))
          longest.sort { $0.to > $1.to }
          if longest.count > 2 { longest.removeLast() }
          next += 1
        }
        if let span = longest.first(where: { $0.value != read.value }), read.end < span.to {
          findings.note(
            .backwards, read, "\(String(span.value, radix: 16)) was seen before it and after it")
        }
      }
    }
  }
}
