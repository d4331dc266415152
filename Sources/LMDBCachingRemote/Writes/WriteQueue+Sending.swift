import LMDBCaching
import Synchronization

// What is sent, and when it is done.

extension WriteQueue {
  /// What is to be sent next: several writes of keys, or one removal of many; the last batch again if it is not
  /// settled.
  func nextBatch() -> [Item] {
    state.withLock { state in
      guard state.batch.isEmpty else { return state.batch }
      var size = 0
      var index = state.head
      while index < state.items.count, state.batch.count < WriteBatch.length, size < WriteBatch.size {
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

  /// The first so many writes of the batch are on the server, and in the local tiers if they are to be there; or given
  /// up.
  func settle(_ count: Int) {
    // Not under the lock, which every read takes: the disk may be slow. Nobody but the sender, which calls this,
    // changes the batch.
    let numbers = state.withLock { $0.batch.prefix(count).map(\.number) }
    outbox?.remove(numbers)
    // The values are released after the lock.
    let (waiters, settled) = state.withLock { state -> ([@Sendable () -> Void], ArraySlice<Item>) in
      let settled = state.batch.prefix(count)
      for item in settled {
        state.size -= item.size
        if item.isRemovalOfAll { state.removals[item.number] = nil }
      }
      state.batch.removeFirst(settled.count)
      guard state.isEmpty else { return ([], settled) }
      gate?.set(.waiting, false)
      defer { state.waiters = [:] }
      return (Array(state.waiters.values), settled)
    }
    withExtendedLifetime(settled) {}
    for waiter in waiters { waiter() }
  }

  /// Whether a later write of a key waits: what was sent of it is not worth being stored.
  func hasNewer(than item: Item) -> Bool { state.withLock { $0.places[ByteKey(item.key)] != nil } }
}

extension WriteQueue.State {
  /// Where the writes are that one takes the place of, as indices of `items`.
  func placesReplaced(by item: WriteQueue.Item) -> [Int] {
    guard item.isRemovalOfAll else {
      return places[ByteKey(item.key)].map { [$0 - first] } ?? []
    }
    return items.indices.dropFirst(head).filter { place in
      guard let other = items[place], !other.isRemovalOfAll else { return false }
      return other.key.utf8.starts(with: item.key.utf8)
    }
  }

  /// - Returns: Those that it takes the place of, which are not to be released with a lock held.
  mutating func insert(_ item: WriteQueue.Item, inPlaceOf replaced: [Int]) -> [WriteQueue.Item] {
    guard item.isRemovalOfAll else { return insert(item, inPlaceOf: replaced.first).map { [$0] } ?? [] }
    let dropped = replaced.compactMap { place -> WriteQueue.Item? in
      items[place].map { places[ByteKey($0.key)] = nil }
      return drop(place)
    }
    removals[item.number] = item.key
    append(item)
    return dropped
  }

  /// The same for a write of one key.
  mutating func insert(_ item: WriteQueue.Item, inPlaceOf replaced: Int?) -> WriteQueue.Item? {
    let old = replaced.flatMap { drop($0) }
    places[ByteKey(item.key)] = first + items.count
    append(item)
    return old
  }

  private mutating func append(_ item: WriteQueue.Item) {
    lastNumber = item.number
    items.append(item)
    count += 1
    size += item.size
    if items.count > 1_024, items.count > 4 * count { compact() }
  }

  /// Forgets the write at an index, and leaves its place.
  private mutating func drop(_ index: Int) -> WriteQueue.Item? {
    guard let item = items[index] else { return nil }
    items[index] = nil
    count -= 1
    size -= item.size
    return item
  }

  /// Closes the gaps.
  private mutating func compact() {
    first += items.count
    head = 0
    items.removeAll { $0 == nil }
    places.removeAll(keepingCapacity: true)
    for (index, item) in items.enumerated() {
      if let item, !item.isRemovalOfAll { places[ByteKey(item.key)] = first + index }
    }
  }
}
