import Foundation
import LMDB
import Synchronization

extension RecordReader {
  /// The number of records read per transaction: long transactions keep pages from being reused, and the file grows.
  private static let groupSize = 256
  /// Longer values get separate memory at once, so that callers can keep them without a copy.
  private static let lentLength = 1024

  /// Gets a record's index, the record with a copy of its value that is valid during the call, and the same bytes as
  /// `Data` if they have separate memory.
  typealias Visitor = (Int, StoredRecord<ByteView>, Data?) throws(CacheError) -> Void

  /// Calls `body`, outside of any transaction, with each record found, in any order.
  func read(_ keys: [String], _ body: Visitor) throws(CacheError) {
    var start = 0
    while start < keys.count {
      let end = min(start + Self.groupSize, keys.count)
      try read(keys, start..<end, body)
      start = end
    }
  }

  /// The place of a copied payload. A trivial type, because there are many.
  private enum Place {
    case shared(GroupBytes.Place)
    case owned(Int)
  }

  // A tuple would be copied by the runtime.
  private struct Found {
    var number: Int
    var record: StoredRecord<Place>
  }

  private func read(_ keys: [String], _ numbers: Range<Int>, _ body: Visitor) throws(CacheError) {
    // Check the journal before the transaction begins, which then includes writes committed in between.
    let (committed, pending) = try divide(keys, numbers)
    var found: [Found] = []
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
      found.append(Found(number: number, record: record.replacingPayload(with: place)))
    }
    if found.count < committed.count { counters.misses.increment(by: committed.count - found.count) }
    for index in found.indices {
      let (number, record) = (found[index].number, found[index].record)
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

  /// Verifies the checksum of a copy, and passes on the value.
  @inline(__always)
  private func finish(
    _ found: StoredRecord<ByteView>, _ owner: Data?, _ number: Int, _ key: String, _ body: Visitor
  ) throws(CacheError) {
    try CacheKey.with(key) { (key) throws(CacheError) in
      try requireTransforms(found.header, key)
      guard let record = try verified(found, found.payload, key) else { return }
      if record.header.flags.isDisjoint(with: [.pointer, .transformed]) { return try body(number, record, owner) }
      if let value = try value(of: record, key) {
        return try Self.visit(record.replacingPayload(with: value), number, body)
      }
      // The pointer is valid only until the transaction ends; the entry may then be rewritten.
      if try isReplaced(found.header, key), let record = try readData(key) { try Self.visit(record, number, body) }
    }
  }

  /// Separates the keys to look up in the database from those with uncommitted writes.
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

/// Copies of short values in one growing block of memory. Growth invalidates returned bytes.
struct GroupBytes: ~Copyable {
  struct Place {
    fileprivate let start: Int
    fileprivate let count: Int
  }

  private static let alignment = 16
  private var owned: OwnedBytes
  private var count = 0

  init(capacity: Int) { owned = OwnedBytes(capacity: max(Self.alignment, capacity)) }

  /// Copies a value, aligned as on the stack.
  @inline(__always)
  mutating func append(_ bytes: ByteView) -> Place {
    let end = (count + bytes.count + Self.alignment - 1) & ~(Self.alignment - 1)
    if end > owned.memory.count { owned.grow(to: end) }
    owned.memory.copy(bytes, at: count)
    defer { count = end }
    return Place(start: count, count: bytes.count)
  }

  @inline(__always)
  subscript(_ place: Place) -> ByteView { owned.bytes[place.start..<(place.start + place.count)] }
}
