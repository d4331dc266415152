/// What a history shows.
package struct HistoryFindings: Sendable {
  package enum Fault: String, Sendable, CaseIterable {
    /// A value that nobody had begun to write.
    case phantom
    /// A batch of which a part was seen.
    case torn
    /// A value that had been overwritten for longer than the bound.
    case stale
    /// No value where there had been one for longer than the bound, and nobody removed it.
    case missing
    /// A value that the process had seen give way to another one already.
    case backwards
    /// An update whose result another one has not seen that came after it.
    case lost
  }

  package var faults: [(fault: Fault, description: String)] = []
  package var reads = 0
  package var writes = 0
  /// How long after its end the write of another process was not seen yet, in nanoseconds: of each read that saw an
  /// older value.
  package var staleness: [Int64] = []

  package func count(_ fault: Fault) -> Int { faults.count { $0.fault == fault } }
}
