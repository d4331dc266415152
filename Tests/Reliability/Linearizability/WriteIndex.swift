/// A process's writes to one key, indexed for queries by start and by end.
struct WriteIndex {
  private let starts: [Int64]
  /// Suffix minimum of the ends, ordered by start.
  private let earliestEnds: [Int64]
  /// Prefix maximum of the ends, ordered by start.
  private let latestEnds: [Int64]
  private let ends: [Int64]
  /// Prefix maximum of the starts, ordered by end.
  private let latestStarts: [Int64]

  init(_ writes: [HistoryRecord]) {
    let byStart = writes.sorted { $0.start < $1.start }
    starts = byStart.map(\.start)
    var earliest = byStart.map(\.end)
    for index in earliest.indices.dropLast().reversed() { earliest[index] = min(earliest[index], earliest[index + 1]) }
    earliestEnds = earliest
    var latest = byStart.map(\.end)
    for index in latest.indices.dropFirst() { latest[index] = max(latest[index], latest[index - 1]) }
    latestEnds = latest
    let byEnd = writes.sorted { $0.end < $1.end }
    ends = byEnd.map(\.end)
    var begun = byEnd.map(\.start)
    for index in begun.indices.dropFirst() { begun[index] = max(begun[index], begun[index - 1]) }
    latestStarts = begun
  }

  func earliestEnd(startingAfter moment: Int64) -> Int64? {
    let index = Self.firstIndex(starts) { $0 > moment }
    return index < starts.count ? earliestEnds[index] : nil
  }

  func latestStart(endingBefore moment: Int64) -> Int64? {
    let index = Self.firstIndex(ends) { $0 >= moment }
    return index > 0 ? latestStarts[index - 1] : nil
  }

  func latestEnd(startingBefore moment: Int64) -> Int64? {
    let index = Self.firstIndex(starts) { $0 >= moment }
    return index > 0 ? latestEnds[index - 1] : nil
  }

  private static func firstIndex(_ values: [Int64], where condition: (Int64) -> Bool) -> Int {
    var (low, high) = (0, values.count)
    while low < high {
      let middle = (low + high) / 2
      if condition(values[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
