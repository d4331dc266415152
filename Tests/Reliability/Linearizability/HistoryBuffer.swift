/// Preallocated records of one thread: recording never allocates.
// Sendable: one thread fills it, and others read it after that thread has ended.
final class HistoryBuffer: @unchecked Sendable {
  private let records: UnsafeMutableBufferPointer<HistoryRecord>
  private(set) var count = 0

  init(capacity: Int) { records = .allocate(capacity: capacity) }

  deinit { records.deallocate() }

  func append(_ record: HistoryRecord) {
    records.initializeElement(at: count, to: record)
    count += 1
  }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(records)[..<size]) }

  private var size: Int { count * MemoryLayout<HistoryRecord>.stride }
}
