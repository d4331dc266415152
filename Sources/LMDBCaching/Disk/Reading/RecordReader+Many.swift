import Foundation
import LMDB
import Synchronization

extension RecordReader {
  /// How many records are read in one transaction: what one that is open for long keeps from being used again grows.
  private static let groupSize = 256
  /// Longer values get memory of their own at once, so that who keeps the bytes need not copy them again.
  private static let lentLength = 1024

  /// Calls `body` with the number and the record of each of the keys that has one, in any order.
  ///
  /// - Parameter body: Gets a private copy of the value. No transaction is open.
  func read(
    _ keys: [String], _ body: (Int, StoredRecord<CopiedValue>) throws(CacheError) -> Void
  ) throws(CacheError) {
    var start = 0
    while start < keys.count {
      let end = min(start + Self.groupSize, keys.count)
      try read(keys, start..<end, body)
      start = end
    }
  }

  /// Where the payload of a record was copied to.
  private enum Place {
    case shared(Range<Int>)
    case owned(Data)
  }

  private func read(
    _ keys: [String], _ numbers: Range<Int>, _ body: (Int, StoredRecord<CopiedValue>) throws(CacheError) -> Void
  ) throws(CacheError) {
    // What waits in the journal is looked for before the transaction begins: what is committed meanwhile is in it.
    let (committed, pending) = try divide(keys, numbers)
    var missing = committed.count
    var found: [(number: Int, record: StoredRecord<Place>)] = []
    found.reserveCapacity(committed.count)
    var copies: [UInt8] = []
    copies.reserveCapacity(committed.count * 128)
    try database.withRecords(of: committed, keys) { number, record in
      missing -= 1
      let payload = record.payload
      if payload.count > Self.lentLength {
        return found.append((number, record.replacingPayload(with: .owned(Data(payload)))))
      }
      let start = copies.count
      copies.append(contentsOf: payload)
      found.append((number, record.replacingPayload(with: .shared(start..<copies.count))))
      // As on the stack.
      copies.append(contentsOf: repeatElement(0, count: -copies.count & 15))
    }
    if missing > 0 { counters.misses.increment(by: missing) }
    try copies.withBytes { (copies) throws(CacheError) in
      for (number, record) in found {
        let payload: CopiedValue =
          switch record.payload {
          case .shared(let range): .lent(UnsafeRawBufferPointer(rebasing: copies[range]))
          case .owned(let data): .owned(data)
          }
        try finish(record.replacingPayload(with: payload), number, keys[number], body)
      }
    }
    for number in pending {
      try CacheKey.with(keys[number]) { (key) throws(CacheError) in
        if let record = try readData(key) { try body(number, record.replacingPayload(with: .owned(record.payload))) }
      }
    }
  }

  /// Holds a copy against its checksum, and hands it, or the value that it refers to, over.
  @inline(__always)
  private func finish(
    _ found: StoredRecord<CopiedValue>, _ number: Int, _ key: String,
    _ body: (Int, StoredRecord<CopiedValue>) throws(CacheError) -> Void
  ) throws(CacheError) {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try requireTransforms(found.header, key)
      let contents = try found.payload.withBytes { (bytes) throws(CacheError) -> CopiedValue? in
        guard let record = try verified(found, bytes, key) else { return nil }
        if record.header.flags.isDisjoint(with: [.pointer, .transformed]) { return found.payload }
        return try value(of: record, key).map { CopiedValue.owned($0) }
      }
      if let contents { return try body(number, found.replacingPayload(with: contents)) }
      // The pointer of a record is good until the transaction ends; then the entry may be written anew.
      guard try isReplaced(found.header, key), let record = try readData(key) else { return }
      try body(number, record.replacingPayload(with: .owned(record.payload)))
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
