/// The updates of a key that nothing else changes. They are linearizable if each found its predecessor's value, in an
/// order in which no update precedes one that had ended when it began.
struct UpdateChain {
  private let updates: [HistoryRecord]

  init(_ records: [HistoryRecord]) { updates = records.filter { $0.kind == .update } }

  func check(_ findings: inout HistoryFindings) {
    var next: [UInt64: HistoryRecord] = [:]
    for update in updates {
      if let other = next.updateValue(update, forKey: update.previous) {
        findings.note(
          .lost, update, "\(String(update.previous, radix: 16)) was found by process \(other.process), too")
      }
    }
    var chain: [HistoryRecord] = []
    var value: UInt64 = 0
    // A lost update may repeat a value.
    while let update = next.removeValue(forKey: value) {
      chain.append(update)
      value = update.value
    }
    for update in next.values {
      findings.note(.lost, update, "it found \(String(update.previous, radix: 16)), which no update had left")
    }
    var earliest = Int64.max
    for update in chain.reversed() {
      if earliest < update.start {
        findings.note(
          .lost, update, "an update that had ended \((update.start - earliest) / 1_000) µs before came after it")
      }
      earliest = min(earliest, update.end)
    }
  }
}
