import Platform

/// A segment's frames in LMDB key order, so that writing them touches each page once.
struct CommitPlan: ~Copyable {
  struct Entry {
    /// Eight big-endian bytes of the key, after the prefix shared by all; they decide most comparisons.
    fileprivate(set) var order: UInt64 = 0
    let databaseKey: UnsafeRawBufferPointer
    let frame: JournalFrame
  }

  private(set) var entries: [Entry] = []
  /// The memory of database keys that differ from their cache keys.
  private var ownKeys: [UnsafeMutableRawBufferPointer] = []

  init(_ segment: JournalSegment, _ databaseKey: DatabaseKey) {
    entries.reserveCapacity(segment.count)
    segment.forEachFrame { frame in
      var key = frame.key
      if !DatabaseKey.isPlain(key) {
        let own = UnsafeMutableRawBufferPointer.allocate(byteCount: DatabaseKey.maximumLength, alignment: 1)
        ownKeys.append(own)
        key = UnsafeRawBufferPointer(rebasing: own[..<databaseKey.write(key, to: own)])
      }
      entries.append(Entry(databaseKey: key, frame: frame))
    }
    let shared = sharedPrefix
    for index in entries.indices { entries[index].order = Self.order(entries[index].databaseKey, from: shared) }
    entries.sort { first, second in
      if first.order != second.order { return first.order < second.order }
      if first.databaseKey.precedes(second.databaseKey) { return true }
      // For two long keys with one digest, the later write wins.
      return first.databaseKey.count == DatabaseKey.maximumLength && first.frame.stamp < second.frame.stamp
        && second.databaseKey.elementsEqual(fast: first.databaseKey)
    }
  }

  deinit { for key in ownKeys { key.deallocate() } }

  private var sharedPrefix: Int {
    guard let first = entries.first?.databaseKey else { return 0 }
    var shared = first.count
    for entry in entries where shared > 0 { shared = first.sharedPrefix(with: entry.databaseKey, limit: shared) }
    return shared
  }

  @inline(__always)
  private static func order(_ key: UnsafeRawBufferPointer, from start: Int) -> UInt64 {
    if key.count - start >= 8 {
      return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start, as: UInt64.self))
    }
    var order: UInt64 = 0
    for index in start..<key.count { order |= UInt64(key[index]) << (56 - 8 * UInt64(index - start)) }
    return order
  }
}
