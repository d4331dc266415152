/// The frames of one segment in LMDB's key order: sorted writes touch each page once.
struct CommitPlan: ~Copyable {
  struct Entry {
    /// The first eight bytes of the database key, big-endian: most comparisons end here.
    let order: UInt64
    let databaseKey: UnsafeRawBufferPointer
    let frame: JournalFrame
  }

  private(set) var entries: [Entry] = []
  /// Memory of the database keys that are not the cache keys themselves.
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
      entries.append(Entry(order: Self.order(key), databaseKey: key, frame: frame))
    }
    entries.sort { first, second in
      if first.order != second.order { return first.order < second.order }
      if first.databaseKey.precedes(second.databaseKey) { return true }
      // Two long keys with one digest: the later write stays.
      return first.databaseKey.count == DatabaseKey.maximumLength && first.frame.stamp < second.frame.stamp
        && second.databaseKey.elementsEqual(fast: first.databaseKey)
    }
  }

  deinit { for key in ownKeys { key.deallocate() } }

  @inline(__always)
  private static func order(_ key: UnsafeRawBufferPointer) -> UInt64 {
    if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
    var order: UInt64 = 0
    for index in 0..<key.count { order |= UInt64(key[index]) << (56 - 8 * UInt64(index)) }
    return order
  }
}
