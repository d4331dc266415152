package struct HistoryFindings: Sendable {
  package enum Fault: String, Sendable, CaseIterable {
    /// A read returned a value before its write began.
    case phantom
    /// A read saw a part of a batch.
    case torn
    /// A read returned a value overwritten longer ago than the bound.
    case stale
    /// A read found nothing although a value, never removed, was older than the bound.
    case missing
    /// A read returned a value that its process had already seen replaced.
    case backwards
    /// An update missed the result of an earlier one.
    case lost
  }

  package var faults: [(fault: Fault, description: String)] = []
  package var reads = 0
  package var writes = 0
  /// For each read of an older value: nanoseconds since the unseen write of another process ended.
  package var staleness: [Int64] = []

  package func count(_ fault: Fault) -> Int { faults.count { $0.fault == fault } }
}
