/// Schedules a trim after insertions of a tenth of the capacity.
struct TraceBatch {
  private let length: Int
  private var inserted = 0

  init(capacity: Int) { length = max(1, capacity / 10) }

  mutating func isOver() -> Bool {
    inserted += 1
    if inserted < length { return false }
    inserted = 0
    return true
  }
}
