public import CPlatform

/// An open-addressing table: parallel arrays of words, 8 bytes a place, and of entries.
///
/// A word is `tag << 32 | slot + 1` with the slot of the entry's details, or 0 for an empty place. The hash alone gives
/// the addresses of a word and its entry, so both are fetched at once. A tag's home is its leading bits, so growing
/// moves entries in order and hashes nothing. Linear probing; deletion shifts the cluster back instead of leaving
/// tombstones, while details stay. Owned memory: `deallocate` frees it once empty.
@frozen @usableFromInline
struct MemoryTable<Key, Value> {
  @usableFromInline typealias Entry = MemoryEntry<Key, Value>

  @usableFromInline var words: UnsafeMutablePointer<UInt64>
  @usableFromInline var entries: UnsafeMutablePointer<Entry>
  @usableFromInline var mask: UInt32
  @usableFromInline var shift: UInt32

  @inlinable
  init(capacityLog2: UInt32, arena: Unmanaged<MemoryArena>) {
    let capacity = 1 << Int(capacityLog2)
    let (words, entries) = arena._withUnsafeGuaranteedRef {
      ($0.allocate(bytes: capacity * 8), $0.allocate(bytes: capacity * MemoryLayout<Entry>.stride))
    }
    self.words = words.initializeMemory(as: UInt64.self, repeating: 0, count: capacity)
    self.entries = entries.bindMemory(to: Entry.self, capacity: capacity)
    mask = UInt32(truncatingIfNeeded: capacity - 1)
    shift = 32 - capacityLog2
  }

  @inlinable @inline(__always)
  static var valueOffset: Int {
    (MemoryLayout<Key>.size &+ MemoryLayout<Value>.alignment &- 1) & ~(MemoryLayout<Value>.alignment &- 1)
  }

  @inlinable static var smallestLog2: UInt32 { 4 }

  @inlinable
  var capacityLog2: UInt32 { 32 &- shift }

  @inlinable
  var capacity: Int { Int(truncatingIfNeeded: mask) &+ 1 }

  /// Whether one more entry would fill it beyond 13/16, where clusters grow long.
  @inlinable @inline(__always)
  func isFull(_ count: Int) -> Bool { (count &+ 1) &* 16 > capacity &* 13 }

  @inlinable @inline(__always)
  func home(of tag: UInt32) -> Int { Int(truncatingIfNeeded: tag &>> shift) }

  @inlinable @inline(__always)
  func next(_ place: Int) -> Int { (place &+ 1) & Int(truncatingIfNeeded: mask) }

  @inlinable @inline(__always)
  func slot(at place: Int) -> UInt32 { UInt32(truncatingIfNeeded: words[place]) &- 1 }

  // MARK: Looking up

  @inlinable @inline(__always)
  func find(_ key: borrowing Key, hash: UInt64) -> Int? where Key: Hashable {
    let tag = UInt64(truncatingIfNeeded: hash & 0xFFFF_FFFF)
    var place = home(of: UInt32(truncatingIfNeeded: tag))
    while true {
      let word = words[place]
      if word &>> 32 == tag, word != 0 {
        let entry = entries + place
        Self.prefetchValue(of: entry)
        if Self.isOf(key, entry) { return place }
      } else if word == 0 {
        return nil
      }
      place = next(place)
    }
  }

  @inlinable @inline(__always)
  static func isOf(_ key: borrowing Key, _ entry: UnsafeMutablePointer<Entry>) -> Bool where Key: Hashable {
    KeyIdentity.same(entry.pointee.key, copy key)
  }

  /// Prefetches the value's object, whose reference count a hit changes, during the key comparison.
  @inlinable @inline(__always)
  static func prefetchValue(of entry: UnsafeMutablePointer<Entry>) {
    if MemoryLayout<Value>.size == MemoryLayout<UInt>.size, !_isPOD(Value.self) {
      withUnsafeMutablePointer(to: &entry.pointee.value) { value in
        cplatform_prefetch_to_write(UnsafeRawPointer(bitPattern: UnsafeRawPointer(value).loadUnaligned(as: UInt.self)))
      }
    }
  }

  /// The place of `slot`, which must be in the table.
  @inlinable
  func place(of slot: UInt32, tag: UInt32) -> Int {
    let word = UInt64(tag) &<< 32 | UInt64(slot &+ 1)
    var place = home(of: tag)
    while words[place] != word { place = next(place) }
    return place
  }

  // MARK: Changing

  /// Adds a word and returns its place, where the entry must be initialized. There must be room.
  @inlinable
  func insert(_ slot: UInt32, tag: UInt32) -> Int {
    var place = home(of: tag)
    while words[place] != 0 { place = next(place) }
    words[place] = UInt64(tag) &<< 32 | UInt64(slot &+ 1)
    return place
  }

  /// Empties a place whose entry was moved out, and closes the gap.
  @inlinable
  func remove(at place: Int) {
    let mask = Int(truncatingIfNeeded: self.mask)
    var hole = place
    var candidate = place
    while true {
      candidate = next(candidate)
      let word = words[candidate]
      if word == 0 { break }
      let home = home(of: UInt32(truncatingIfNeeded: word &>> 32))
      if (candidate &- home) & mask >= (candidate &- hole) & mask {
        words[hole] = word
        (entries + hole).moveInitialize(from: entries + candidate, count: 1)
        hole = candidate
      }
    }
    words[hole] = 0
  }

  /// Moves everything into a table of another size; the old one is freed after its last reader.
  @inlinable @inline(never)
  mutating func resize(toLog2 log2: UInt32, arena: Unmanaged<MemoryArena>) {
    let resized = MemoryTable(capacityLog2: log2, arena: arena)
    for place in 0..<capacity {
      let word = words[place]
      guard word != 0 else { continue }
      var target = resized.home(of: UInt32(truncatingIfNeeded: word &>> 32))
      while resized.words[target] != 0 { target = resized.next(target) }
      resized.words[target] = word
      (resized.entries + target).moveInitialize(from: entries + place, count: 1)
    }
    arena._withUnsafeGuaranteedRef {
      $0.retire(words, bytes: capacity * 8)
      $0.retire(entries, bytes: capacity * MemoryLayout<Entry>.stride)
    }
    self = resized
  }

  func deallocate(arena: Unmanaged<MemoryArena>) {
    arena._withUnsafeGuaranteedRef {
      $0.deallocate(words, bytes: capacity * 8)
      $0.deallocate(entries, bytes: capacity * MemoryLayout<Entry>.stride)
    }
  }
}
