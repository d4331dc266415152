import Synchronization

extension MemoryStore {
  /// Removes every entry. Each shard is emptied in a constant-time lock hold and releases its entries afterwards.
  @usableFromInline
  package func removeAll() { empty(closing: false) }

  /// Drops everything and refuses later calls. No body of `access` runs after this returns.
  package func close() {
    // Closing sets the shards' masks, as resharding does.
    resharding.withLock { _ in
      for number in 0..<Self.shardCount {
        let shard = shard(number)
        shard.pointee.lock()
        shard.pointee.core.mask = MemoryCore<Key, Value>.closedMask
        shard.pointee.unlock()
      }
    }
    readers.wait()
    empty(closing: true)
    stopAutoTrim()
  }

  private func empty(closing: Bool) {
    // Resharding moves entries to shards that were emptied before.
    var generation = -1
    while generation != self.generation.load(ordering: .relaxed) {
      generation = self.generation.load(ordering: .relaxed)
      emptyShards(closing: closing)
    }
  }

  private func emptyShards(closing: Bool) {
    for number in 0..<Self.shardCount {
      let shard = shard(number)
      shard.pointee.lock()
      let contents = shard.pointee.core.count == 0 && !closing ? nil : shard.pointee.core.detach()
      if let contents { totals.pointee.add(count: 0 - contents.count, cost: 0 &- contents.cost) }
      shard.pointee.unlock()
      if let contents { dispose(contents) }
    }
  }

  private func dispose(_ contents: consuming MemoryContents<Key, Value>) {
    readers.wait()
    if contents.count == 0 { return contents.deallocate() }
    let isCheap = _isPOD(Value.self) && (Key.self == String.self || _isPOD(Key.self))
    if contents.count > Self.chunk, !isCheap {
      let box = ContentsBox(contents)
      // The arena owns the contents' memory.
      if disposal.releaseInBulk({ [arena] in withExtendedLifetime(arena) { Self.destroy(box.contents) } }) { return }
      return drain(box.contents)
    }
    drain(contents)
  }

  private func drain(_ contents: consuming MemoryContents<Key, Value>) {
    contents.drain { entry in
      let entry = entry.move()
      release(Pair(key: entry.key, value: entry.value))
    }
  }

  static func destroy(_ contents: consuming MemoryContents<Key, Value>) {
    contents.drain { entry in entry.deinitialize(count: 1) }
  }

  // Unchecked: the contents, pointers to `Sendable` keys and values, are handed over whole to one other thread.
  private final class ContentsBox: @unchecked Sendable {
    let contents: MemoryContents<Key, Value>
    init(_ contents: consuming MemoryContents<Key, Value>) { self.contents = contents }
  }

  /// Removes the entries with stamps older than `stamp`, 256 slots in one lock hold.
  package func removeAll(olderThan stamp: UInt64) {
    forEachChunk { shard, slots, releases in
      for slot in slots where shard.pointee.core.slabs.holds(slot) {
        if stampOf(shard, slot) < stamp { take(shard, place: shard.pointee.core.place(of: slot), &releases) }
      }
    }
    compact()
  }

  /// Removes the entries with stamps older than `stamp` whose keys `predicate` accepts.
  ///
  /// `predicate` runs without a lock and may use the store. Concurrent writes may stay or go.
  package func removeAll(olderThan stamp: UInt64 = .max, where predicate: (Key) -> Bool) {
    // Keys are gathered first, since the caller's predicate may call the store.
    var keys: [(key: Key, hash: UInt64)] = []
    forEachChunk { shard, slots, releases in
      for slot in slots where shard.pointee.core.slabs.holds(slot) {
        guard stampOf(shard, slot) < stamp else { continue }
        let key = shard.pointee.core.entry(of: slot).pointee.key
        keys.append((key, shard.pointee.core.slabs.details(slot).pointee.hash))
      }
    }
    for (key, hash) in keys where predicate(key) {
      var releases = Releases()
      guard let shard = lockShard(hash: hash) else { return }
      removeOlder(shard, key, hash: hash, stamp: stamp, &releases)
      shard.pointee.unlock()
      release(releases)
    }
    compact()
  }
}
