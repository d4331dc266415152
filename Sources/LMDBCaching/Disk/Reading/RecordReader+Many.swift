import Foundation
import LMDB
import Synchronization

extension RecordReader {
  /// How many records are read in one transaction: what one that is open for long keeps from being used again grows.
  private static let groupSize = 256
  /// Longer values get memory of their own at once, so that who keeps the bytes need not copy them again.
  private static let lentLength = 1024

  /// What is done with a record: its number, and the record with a private copy of its value, which is valid meanwhile; the
  /// same bytes as `Data`, if they are in memory of their own.
  typealias Visitor = (Int, StoredRecord<UnsafeRawBufferPointer>, Data?) throws(CacheError) -> Void

  /// Calls `body` with the record of each of the keys that has one, in any order. No transaction is open meanwhile.
  func read(_ keys: [String], _ body: Visitor) throws(CacheError) {
    var start = 0
    while start < keys.count {
      let end = min(start + Self.groupSize, keys.count)
      try read(keys, start..<end, body)
      start = end
    }
  }

  /// Where the payload of a record was copied to. Plain memory, of which there are many.
  private enum Place {
    case shared(GroupBytes.Place)
    /// The number of the copy.
    case owned(Int)
  }

  private func read(_ keys: [String], _ numbers: Range<Int>, _ body: Visitor) throws(CacheError) {
    // What waits in the journal is looked for before the transaction begins: what is committed meanwhile is in it.
    let (committed, pending) = try divide(keys, numbers)
    var found: [(number: Int, record: StoredRecord<Place>)] = []
    found.reserveCapacity(committed.count)
    var shared = GroupBytes(capacity: committed.count * 128)
    var owned: [Data] = []
    try database.withRecords(of: committed, keys) { number, record in
      let place: Place
      if record.payload.count > Self.lentLength {
        place = .owned(owned.count)
        owned.append(Data(record.payload))
      } else {
        place = .shared(shared.append(record.payload))
      }
      found.append((number, record.replacingPayload(with: place)))
    }
    if found.count < committed.count { counters.misses.increment(by: committed.count - found.count) }
    for (number, record) in found {
      switch record.payload {
      case .shared(let place):
        try finish(record.replacingPayload(with: shared[place]), nil, number, keys[number], body)
      case .owned(let place):
        let data = owned[place]
        try data.withBytes { (bytes) throws(CacheError) in
          try finish(record.replacingPayload(with: bytes), data, number, keys[number], body)
        }
      }
    }
    for number in pending {
      try CacheKey.with(keys[number]) { (key) throws(CacheError) in
        if let record = try readData(key) { try Self.visit(record, number, body) }
      }
    }
  }

  private static func visit(_ record: StoredRecord<Data>, _ number: Int, _ body: Visitor) throws(CacheError) {
    try record.payload.withBytes { (bytes) throws(CacheError) in
      try body(number, record.replacingPayload(with: bytes), record.payload)
    }
  }

  /// Holds a copy against its checksum, and hands it, or the value that it refers to, over.
  @inline(__always)
  private func finish(
    _ found: StoredRecord<UnsafeRawBufferPointer>, _ owner: Data?, _ number: Int, _ key: String, _ body: Visitor
  ) throws(CacheError) {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try requireTransforms(found.header, key)
      guard let record = try verified(found, found.payload, key) else { return }
      if record.header.flags.isDisjoint(with: [.pointer, .transformed]) { return try body(number, record, owner) }
      if let value = try value(of: record, key) {
        return try Self.visit(record.replacingPayload(with: value), number, body)
      }
      // The pointer of a record is good until the transaction ends; then the entry may be written anew.
      if try isReplaced(found.header, key), let record = try readData(key) { try Self.visit(record, number, body) }
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
