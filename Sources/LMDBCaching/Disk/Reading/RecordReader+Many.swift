import LMDB
import Synchronization

extension RecordReader {
  /// How many records are read in one transaction: what one that is open for long keeps from being used again grows.
  private static let groupSize = 256

  /// Calls `body` with the number and the record of each of the keys that has one, in any order.
  ///
  /// - Parameter body: Gets the value's bytes, a private copy that is valid in it only. No transaction is open.
  func read(
    _ keys: [String], _ body: (Int, StoredRecord<UnsafeRawBufferPointer>) throws(CacheError) -> Void
  ) throws(CacheError) {
    var start = 0
    while start < keys.count {
      let end = min(start + Self.groupSize, keys.count)
      try read(keys, start..<end, body)
      start = end
    }
  }

  private func read(
    _ keys: [String], _ numbers: Range<Int>,
    _ body: (Int, StoredRecord<UnsafeRawBufferPointer>) throws(CacheError) -> Void
  ) throws(CacheError) {
    // What waits in the journal is looked for before the transaction begins: what is committed meanwhile is in it.
    var (committed, others) = try divide(keys, numbers)
    // As in the database: neighbours are in one page, and on a device in places that follow each other.
    committed.sort { keys[$0] < keys[$1] }
    var missing = committed.count
    var found: [(number: Int, record: StoredRecord<Range<Int>>)] = []
    found.reserveCapacity(committed.count)
    var copies: [UInt8] = []
    try database.withRecords(of: committed, keys) { number, record in
      missing -= 1
      if !record.header.flags.isDisjoint(with: [.pointer, .transformed]) { return others.append(number) }
      let start = copies.count
      copies.append(contentsOf: record.payload)
      found.append((number, record.replacingPayload(with: start..<copies.count)))
      // As on the stack.
      copies.append(contentsOf: repeatElement(0, count: -copies.count & 15))
    }
    counters.misses.increment(by: missing)
    try copies.withBytes { (copies) throws(CacheError) in
      for (number, record) in found {
        let payload = UnsafeRawBufferPointer(rebasing: copies[record.payload])
        try CacheKey.with(keys[number]) { (key) throws(CacheError) in
          try requireTransforms(record.header, key)
          if let record = try verified(record, payload, key) { try body(number, record) }
        }
      }
    }
    for number in others {
      _ = try CacheKey.with(keys[number]) { (key) throws(CacheError) in
        try read(key) { (record) throws(CacheError) in try body(number, record) }
      }
    }
  }

  /// The numbers of the keys that are to be looked for in the database, and of those that a write waits for.
  private func divide(
    _ keys: [String], _ numbers: Range<Int>
  ) throws(CacheError) -> (committed: [Int], pending: [Int]) {
    guard journal.hasPending.load(ordering: .acquiring) else { return (Array(numbers), []) }
    journal.lock.lock()
    defer { journal.lock.unlock() }
    if journal.state.gate.isEnded { throw .closed }
    let position = database.foreignPosition
    var (committed, pending): ([Int], [Int]) = ([], [])
    for number in numbers {
      if case .unknown = CacheKey.with(keys[number], { journal.lookup($0, position: position) }) {
        committed.append(number)
      } else {
        pending.append(number)
      }
    }
    return (committed, pending)
  }
}
