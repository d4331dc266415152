/// Holds a history against what is promised of one cache that several processes share:
///
/// - A read returns what some write wrote that had begun before the read ended.
/// - A write is seen by its own process at once, and by others within the bound: the group-commit interval and the time
///   that a commit takes. One that returns after its commit is seen by all at once.
/// - No process sees a value again after it saw another one in its place.
/// - A snapshot sees a batch whole.
/// - Updates of a key are one after the other, whichever process makes them.
/// - Of those that put something where nothing is one succeeds, and of those that take it one has it.
package struct HistoryChecker: Sendable {
  /// In nanoseconds.
  package let bound: Int64

  package init(bound: Int64) { self.bound = bound }

  package func check(_ records: [HistoryRecord]) -> HistoryFindings {
    var findings = HistoryFindings()
    for record in records { if record.kind == .read { findings.reads += 1 } else { findings.writes += 1 } }
    let groups = Dictionary(grouping: records.filter { $0.group != 0 && $0.kind == .read }) {
      [UInt32($0.process), UInt32($0.thread), $0.group]
    }
    for (_, reads) in groups where Set(reads.map(\.value)).count > 1 {
      findings.note(.torn, reads[0], "a snapshot saw \(reads.map { String($0.value, radix: 16) })")
    }
    for (_, records) in Dictionary(grouping: records, by: \.key) {
      KeyHistory(records.filter { $0.kind != .put && $0.kind != .take }, bound: bound).check(&findings)
      UpdateChain(records).check(&findings)
      BoxHistory(records).check(&findings)
    }
    return findings
  }
}

extension HistoryFindings {
  mutating func note(_ fault: Fault, _ read: HistoryRecord, _ description: String) {
    faults.append(
      (
        fault,
        "\(fault): process \(read.process), thread \(read.thread), key \(read.key), value "
          + "\(String(read.value, radix: 16)) at \(read.start): \(description)"
      ))
  }
}
