/// Exact LRU, trimmed at the same moments as ``OwnDiskTraceCache``.
final class TrimmedTraceLRU: TraceSubject {
  static let name = "LRU, trimmed"
  private let capacity: Int
  private var accesses: [UInt32: Int] = [:]
  private var now = 0
  private var batch: TraceBatch

  init(capacity: Int) {
    self.capacity = capacity
    batch = TraceBatch(capacity: capacity)
  }

  func contains(_ key: UInt32) -> Bool {
    now += 1
    if accesses[key] == nil { return false }
    accesses[key] = now
    return true
  }

  func insert(_ key: UInt32) {
    accesses[key] = now
    guard batch.isOver(), accesses.count > capacity else { return }
    for (key, _) in accesses.sorted(by: { $0.value < $1.value }).prefix(accesses.count - capacity) {
      accesses[key] = nil
    }
  }
}
