/// Checks a history against the promises of one cache that several processes share:
///
/// - A read returns a written value whose write began before the read ended.
/// - A process sees its own writes at once, and others see them within the bound: the group-commit interval plus the
///   time of a commit. A write that returns after its commit is visible to all at once.
/// - No process sees a replaced value again.
/// - A snapshot sees a batch whole.
/// - Updates of a key are serialized across processes.
/// - Of several puts to an empty key one succeeds, and of several takes one gets the value.
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
