/// Puts and takes of one key that say whether they found something. Each value is put once.
///
/// An operation takes effect between its start and its end. So a value is certainly there from the end of its put to
/// the start of its take, and possibly there from the start of its put to the end of its take.
struct BoxHistory {
  private struct Stay {
    let put: HistoryRecord
    var taking: HistoryRecord?

    var certainEnd: Int64 { taking?.start ?? .max }
    var possibleEnd: Int64 { taking?.end ?? .max }
  }

  private let puts: [HistoryRecord]
  private let takings: [HistoryRecord]

  init(_ records: [HistoryRecord]) {
    puts = records.filter { $0.kind == .put }
    takings = records.filter { $0.kind == .take }
  }

  func check(_ findings: inout HistoryFindings) {
    if puts.isEmpty && takings.isEmpty { return }
    var stays = Dictionary(
      puts.filter { $0.value != 0 }.map { ($0.value, Stay(put: $0)) }, uniquingKeysWith: { first, _ in first })
    for taking in takings where taking.value != 0 {
      guard let stay = stays[taking.value], stay.put.start <= taking.end else {
        findings.note(.phantom, taking, "nobody had put it there")
        continue
      }
      if let other = stay.taking {
        findings.note(.lost, taking, "process \(other.process) has taken it, too")
      }
      stays[taking.value]?.taking = stay.taking ?? taking
    }
    checkPresence(Array(stays.values), &findings)
    checkAbsence(Array(stays.values), &findings)
  }

  /// While a value is certainly there, no put may succeed and every take must find it.
  private func checkPresence(_ stays: [Stay], _ findings: inout HistoryFindings) {
    let latest = LatestEnds(stays.map { ($0.put.end, $0.certainEnd) })
    for put in puts where put.value != 0 {
      if let end = latest.end(beginningBefore: put.start), end > put.end {
        findings.note(.lost, put, "it was put where another value was")
      }
    }
    for taking in takings where taking.value == 0 {
      if let end = latest.end(beginningBefore: taking.start), end > taking.end {
        findings.note(.missing, taking, "nothing was found where a value was")
      }
    }
  }

  /// While no value can be there, no put may be refused.
  private func checkAbsence(_ stays: [Stay], _ findings: inout HistoryFindings) {
    let latest = LatestEnds(stays.map { ($0.put.start, $0.possibleEnd) })
    for put in puts where put.value == 0 {
      let end = latest.end(beginningBefore: put.end + 1) ?? .min
      if end < put.start { findings.note(.phantom, put, "it was refused, and nothing can have been there") }
    }
  }

  /// The latest end among intervals that begin before a moment.
  private struct LatestEnds {
    private let beginnings: [Int64]
    private let ends: [Int64]

    init(_ times: [(beginning: Int64, end: Int64)]) {
      let times = times.sorted { $0.beginning < $1.beginning }
      beginnings = times.map(\.beginning)
      var ends = times.map(\.end)
      for index in ends.indices.dropFirst() { ends[index] = max(ends[index], ends[index - 1]) }
      self.ends = ends
    }

    func end(beginningBefore moment: Int64) -> Int64? {
      var (low, high) = (0, beginnings.count)
      while low < high {
        let middle = (low + high) / 2
        if beginnings[middle] < moment { low = middle + 1 } else { high = middle }
      }
      return low > 0 ? ends[low - 1] : nil
    }
  }
}
