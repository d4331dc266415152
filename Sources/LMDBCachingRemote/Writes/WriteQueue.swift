import Foundation
import LMDBCaching
import Synchronization

/// Writes that are in the local tiers and wait to be sent, in order; of several to one key the last one.
///
/// Each has a number, and the server keeps the number of the last one that it applied: what is sent again, since it is not
/// known what became of it, has an effect once.
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
    case value(PortableEntry)
    case nothing
  }

  private static let batchLength = 128
  private static let batchSize = 1 << 20

  private struct State {
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
    /// The revisions of keys whose change has not come back yet.
    var settled: [ByteKey: RemoteRevision] = [:]
    var waiters: [@Sendable () -> Void] = []

    func item(of key: String) -> Item? { places[ByteKey(key)].flatMap { items[$0 - first] } }

    var isEmpty: Bool { count == 0 && batch.isEmpty }
  }

  /// What the server knows the queue as.
  let identifier: String
  private let limit: Int
  private let outbox: Outbox?
  private let state: Mutex<State>
  /// That of the last write that was added.
  private let lastNumber: Atomic<Int>

  /// - Parameters:
  ///   - outbox: Keeps what waits, if that is to survive the process.
  ///   - items: What waits already, and is in the outbox.
  init(limit: Int, outbox: Outbox? = nil, items: [Item] = []) {
    identifier = outbox?.identifier ?? UUID().uuidString
    self.limit = limit
    self.outbox = outbox
    var state = State()
    for item in items {
      let replaced = Self.insert(item, &state)
      outbox?.remove(replaced)
    }
    lastNumber = Atomic(state.lastNumber)
    self.state = Mutex(state)
  }

  /// Ends the use of the outbox: what waits is kept there.
  func end() { outbox?.end() }

  var count: Int { state.withLock { $0.count + $0.batch.count } }
  var size: Int { state.withLock { $0.size } }

  // MARK: Adding

  /// Adds a write, which is made in the local tiers after that.
  ///
  /// - Returns: Its number.
  /// - Throws: `.queueFull`, `.notKept`
  func add(_ key: String, _ write: Write) throws(RemoteTierError) -> Int {
    try state.withLock { (state) throws(RemoteTierError) in
      let item = Item(number: state.lastNumber + 1, key: key, write: write)
      guard state.size + item.size <= limit else {
        throw RemoteTierError(
          .queueFull,
          "\(state.size) bytes wait to be sent, and \(limit) may. Let the server catch up, or allow for more.")
      }
      try outbox?.keep(item)
      let replaced = Self.insert(item, &state)
      outbox?.remove(replaced)
      lastNumber.store(item.number, ordering: .releasing)
      return item.number
    }
  }

  /// - Returns: The numbers of those that it takes the place of.
  private static func insert(_ item: Item, _ state: inout State) -> [Int] {
    var replaced: [Int] = []
    if item.isRemovalOfAll {
      for place in state.items.indices.dropFirst(state.head) {
        guard let other = state.items[place], !other.isRemovalOfAll, other.key.utf8.starts(with: item.key.utf8) else {
          continue
        }
        replaced.append(other.number)
        drop(place, &state)
        state.places[ByteKey(other.key)] = nil
      }
      state.removals[item.number] = item.key
    } else {
      let place = state.first + state.items.count
      let old = state.places.updateValue(place, forKey: ByteKey(item.key))
      if let old, let other = state.items[old - state.first] {
        replaced = [other.number]
        drop(old - state.first, &state)
      }
    }
    state.lastNumber = item.number
    state.items.append(item)
    state.count += 1
    state.size += item.size
    if state.items.count > 1_024, state.items.count > 4 * state.count { compact(&state) }
    return replaced
  }

  /// Forgets the write at an index, and leaves its place.
  private static func drop(_ index: Int, _ state: inout State) {
    guard let item = state.items[index] else { return }
    state.items[index] = nil
    state.count -= 1
    state.size -= item.size
  }

  /// Closes the gaps.
  private static func compact(_ state: inout State) {
    state.first += state.items.count
    state.head = 0
    state.items.removeAll { $0 == nil }
    state.places.removeAll(keepingCapacity: true)
    for (index, item) in state.items.enumerated() {
      if let item, !item.isRemovalOfAll { state.places[ByteKey(item.key)] = state.first + index }
    }
  }

  /// Takes back what could not be made in the local tiers, unless it is being sent.
  func cancel(_ number: Int) {
    state.withLock { state in
      guard let index = state.items.firstIndex(where: { $0?.number == number }), let item = state.items[index] else {
        return
      }
      Self.drop(index, &state)
      if item.isRemovalOfAll { state.removals[number] = nil } else { state.places[ByteKey(item.key)] = nil }
      outbox?.remove([number])
    }
  }

  /// Whether no later write of the key was added.
  func isLast(_ number: Int, _ key: String) -> Bool {
    if lastNumber.load(ordering: .acquiring) == number { return true }
    return state.withLock { state in
      (state.item(of: key)?.number ?? 0) <= number
        && !state.removals.contains { $0 > number && key.utf8.starts(with: $1.utf8) }
    }
  }

  // MARK: Reading

  /// What waits for a key, or is being sent; `nil` if the server knows.
  func find(_ key: String) -> Found? {
    state.withLock { state in
      if state.isEmpty { return nil }
      let last = state.item(of: key) ?? state.batch.last { ByteKey($0.key) == ByteKey(key) && !$0.isRemovalOfAll }
      let removal = state.removals.filter { key.utf8.starts(with: $0.value.utf8) }.map(\.key).max()
      if let removal, removal > last?.number ?? 0 { return .nothing }
      switch last?.write {
      case .set(let entry)?: return .value(entry)
      case .remove?: return .nothing
      case .removeAll?, nil: return nil
      }
    }
  }

  /// Whether a change that the fleet tells of is older than what this machine has written under the key.
  func outlives(_ key: String, _ revision: RemoteRevision) -> Bool {
    state.withLock { state in
      if state.places[ByteKey(key)] != nil || state.batch.contains(where: { ByteKey($0.key) == ByteKey(key) }) {
        return true
      }
      guard let own = state.settled[ByteKey(key)] else { return false }
      if own <= revision { state.settled[ByteKey(key)] = nil }
      return own >= revision
    }
  }

  /// Nothing of what was sent is remembered: changes were missed.
  func forgetSettled() { state.withLock { $0.settled = [:] } }

  // MARK: Sending

  /// What is to be sent next: several writes of keys, or one removal of many. Empty if nothing waits, or the last batch is
  /// not settled.
  func nextBatch() -> [Item] {
    state.withLock { state in
      guard state.batch.isEmpty else { return [] }
      var size = 0
      var index = state.head
      while index < state.items.count, state.batch.count < Self.batchLength, size < Self.batchSize {
        guard let item = state.items[index] else {
          index += 1
          continue
        }
        if item.isRemovalOfAll, !state.batch.isEmpty { break }
        state.items[index] = nil
        index += 1
        state.count -= 1
        if !item.isRemovalOfAll { state.places[ByteKey(item.key)] = nil }
        state.batch.append(item)
        size += item.size
        if item.isRemovalOfAll { break }
      }
      state.head = index
      if index > 1_024, index * 2 > state.items.count {
        state.items.removeFirst(index)
        state.first += index
        state.head = 0
      }
      return state.batch
    }
  }

  /// The first writes of the batch are on the server, or given up.
  ///
  /// - Parameter revisions: Of each of them, or `nil` where it is not known.
  func settle(_ revisions: [RemoteRevision?]) {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      for (item, revision) in zip(state.batch, revisions) {
        state.size -= item.size
        state.removals[item.number] = nil
        if let revision, !item.isRemovalOfAll, case .set = item.write { state.settled[ByteKey(item.key)] = revision }
      }
      outbox?.remove(state.batch.prefix(revisions.count).map(\.number))
      state.batch.removeFirst(min(revisions.count, state.batch.count))
      return state.isEmpty ? Self.takeWaiters(&state) : []
    }
    for waiter in waiters { waiter() }
  }

  private static func takeWaiters(_ state: inout State) -> [@Sendable () -> Void] {
    defer { state.waiters = [] }
    return state.waiters
  }

  /// The batch that is not settled, to be sent again.
  var unsettledBatch: [Item] { state.withLock { $0.batch } }

  /// Calls `body` when nothing waits, at once if that is so.
  func whenEmpty(_ body: @escaping @Sendable () -> Void) {
    let isEmpty = state.withLock { state in
      if state.isEmpty { return true }
      state.waiters.append(body)
      return false
    }
    if isEmpty { body() }
  }
}
