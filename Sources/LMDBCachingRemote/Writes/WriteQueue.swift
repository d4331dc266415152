import Foundation
import LMDBCaching
import Synchronization

/// Writes that wait to be sent, in order; of several to one key the last one.
///
/// It is the first tier of its process: what waits here, or is being sent, comes before what the local tiers have. They
/// are given a write when the server has it, and with its revision.
///
/// Each has a number, and the server keeps the number of the last one that it applied: what is sent again, since it is
/// not known what became of it, has an effect once.
final class WriteQueue: Sendable {
  /// A write that waits.
  enum Write: Sendable {
    case set(PortableEntry)
    case remove
    /// Of every key that begins so. Everything before it goes first.
    case removeAll
  }

  /// Immutable.
  final class Item: Sendable {
    let number: Int
    /// Or a prefix.
    let key: String
    let write: Write
    let size: Int

    init(number: Int, key: String, write: Write) {
      self.number = number
      self.key = key
      self.write = write
      // What it takes besides what it says is guessed.
      size = if case .set(let entry) = write { entry.size + 128 } else { key.utf8.count + 128 }
    }

    var isRemovalOfAll: Bool { if case .removeAll = write { true } else { false } }
  }

  /// What a read finds.
  enum Found: Sendable {
    case value(PortableEntry, number: Int)
    /// The fleet has nothing under the key once this is sent. What is in the local tiers was removed before, and is not
    /// older if it was made here.
    case nothing
  }

  struct State {
    /// In the order of their numbers. What another one took the place of, or is being sent, is `nil`.
    var items: [Item?] = []
    /// What the first of them would be counted as, if none had been dropped from the beginning.
    var first = 0
    /// Those before it have been sent.
    var head = 0
    /// How many there are.
    var count = 0
    /// Where the last write of a key is, counted as `first` is.
    var places: [ByteKey: Int] = [:]
    var lastNumber = 0
    /// Removals of many, by their numbers, until they are on the server.
    var removals: [Int: String] = [:]
    var size = 0
    /// What is being sent, in order.
    var batch: [Item] = []
    var isSealed = false
    var waiters: [Int: @Sendable () -> Void] = [:]
    var lastWaiter = 0

    func item(of key: String) -> Item? { places[ByteKey(key)].flatMap { items[$0 - first] } }

    var isEmpty: Bool { count == 0 && batch.isEmpty }
  }

  /// What the server knows the queue as.
  let identifier: String
  private let limit: Int
  let outbox: Outbox?
  let gate: LocalGate?
  let state: Mutex<State>

  /// - Parameters:
  ///   - outbox: Keeps what waits, if that is to survive the process.
  ///   - items: What waits already, and is in the outbox.
  ///   - last: The greatest number of what is in the outbox, also of what cannot be read and stays there; 0: nothing
  ///     is.
  ///   - gate: Is told whether anything waits.
  init(limit: Int, outbox: Outbox? = nil, items: [Item] = [], last: Int = 0, gate: LocalGate? = nil) {
    identifier = outbox?.identifier ?? UUID().uuidString
    self.limit = limit
    self.outbox = outbox
    self.gate = gate
    var state = State()
    for item in items {
      let replaced = state.insert(item, inPlaceOf: state.placesReplaced(by: item))
      outbox?.remove(replaced.map(\.number))
    }
    if last > 0 {
      // The server may have had later ones that the disk lost with the power: theirs are not used again, nor are those
      // of what cannot be read, which would be replaced on the disk, and taken for made by the server.
      state.lastNumber = ((last >> 32) + 1) << 32
    }
    gate?.set(.waiting, !state.isEmpty)
    self.state = Mutex(state)
  }

  /// Ends the use of the outbox: what waits is kept there. Waits for the disk.
  func end() { outbox?.end() }

  var count: Int { state.withLock { $0.count + $0.batch.count } }
  var size: Int { state.withLock { $0.size } }

  // MARK: Adding

  /// Adds a write.
  ///
  /// - Throws: `.queueFull`, `.notKept`, `.closed`
  func add(_ key: String, _ write: Write) throws(RemoteTierError) {
    // Released after the lock: the `deinit` of a value may use the cache.
    let replaced = try state.withLock { (state) throws(RemoteTierError) -> [Item] in
      if state.isSealed { throw .cacheClosed }
      let replaced: [Item]
      let item = Item(number: state.lastNumber + 1, key: key, write: write)
      if item.isRemovalOfAll {
        let places = state.placesReplaced(by: item)
        try check(places.reduce(state.size + item.size) { $0 - (state.items[$1]?.size ?? 0) }, state)
        try outbox?.keep(item)
        replaced = state.insert(item, inPlaceOf: places)
      } else {
        let place = state.places[ByteKey(key)].map { $0 - state.first }
        try check(state.size + item.size - (place.flatMap { state.items[$0]?.size } ?? 0), state)
        try outbox?.keep(item)
        replaced = state.insert(item, inPlaceOf: place).map { [$0] } ?? []
      }
      if !replaced.isEmpty { outbox?.remove(replaced.map(\.number)) }
      // Most of the time something waits already. The lock orders this.
      if let gate, !gate.has(.waiting) { gate.set(.waiting, true) }
      return replaced
    }
    withExtendedLifetime(replaced) {}
  }

  private func check(_ size: Int, _ state: State) throws(RemoteTierError) {
    if size <= limit { return }
    throw RemoteTierError(
      .queueFull,
      "\(state.size) bytes wait to be sent, and \(limit) may. Let the server catch up, or allow for more.")
  }

  /// A value that waits has expired: it becomes a removal. What is being sent stays what it is.
  ///
  /// What the outbox keeps stays, too: an expired value is sent as a removal, and found to have expired by the next
  /// process.
  ///
  /// - Returns: Whether it is a removal now.
  func expire(_ key: String, number: Int) -> Bool {
    // Released after the lock, as above.
    let expired = state.withLock { state -> Item? in
      guard let place = state.places[ByteKey(key)], let old = state.items[place - state.first], old.number == number
      else { return nil }
      let item = Item(number: number, key: key, write: .remove)
      state.items[place - state.first] = item
      state.size += item.size - old.size
      return old
    }
    return expired != nil
  }

  /// Takes nothing any more.
  func seal() { state.withLock { $0.isSealed = true } }

  // MARK: Reading

  /// What waits for a key, or is being sent; `nil` if the server knows.
  func find(_ key: String) -> Found? {
    state.withLock { state in
      if state.isEmpty { return nil }
      let last = state.item(of: key) ?? state.batch.last { ByteKey($0.key) == ByteKey(key) && !$0.isRemovalOfAll }
      if !state.removals.isEmpty,
        let removal = state.removals.filter({ key.utf8.starts(with: $0.value.utf8) }).map(\.key).max(),
        removal > last?.number ?? 0
      {
        return .nothing
      }
      guard let last else { return nil }
      switch last.write {
      case .set(let entry): return .value(entry, number: last.number)
      case .remove, .removeAll: return .nothing
      }
    }
  }

  // MARK: Waiting

  /// Calls `body` when nothing waits, at once if that is so.
  ///
  /// - Returns: What ``forget(waiter:)`` is to be told if it is not to be called any more.
  func whenEmpty(_ body: @escaping @Sendable () -> Void) -> Int {
    let number = state.withLock { state -> Int in
      if state.isEmpty { return 0 }
      state.lastWaiter += 1
      state.waiters[state.lastWaiter] = body
      return state.lastWaiter
    }
    if number == 0 { body() }
    return number
  }

  func forget(waiter: Int) { state.withLock { $0.waiters[waiter] = nil } }
}

extension RemoteTierError {
  static let cacheClosed = RemoteTierError(.closed, "The distributed cache was closed. Make another one.")
}
