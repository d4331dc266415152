/// An open-addressing table from hash tags to slots, 8 bytes a place.
///
/// A word is `tag << 32 | slot + 1`; 0 is an empty place. A tag's home is its leading bits, so growing copies words in
/// order and never reads an entry. Linear probing; deletion shifts the cluster back, so there are no tombstones.
/// Owned memory: `deallocate()` ends it.
@frozen @usableFromInline
struct MemoryIndex {
  @usableFromInline var words: UnsafeMutablePointer<UInt64>
  @usableFromInline var mask: UInt32
  @usableFromInline var shift: UInt32

  @inlinable
  init(capacityLog2: UInt32) {
    let capacity = 1 << Int(capacityLog2)
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: capacity * 8, alignment: 64)
    words = bytes.initializeMemory(as: UInt64.self, repeating: 0, count: capacity)
    mask = UInt32(truncatingIfNeeded: capacity - 1)
    shift = 32 - capacityLog2
  }

  @inlinable static var smallestLog2: UInt32 { 4 }

  /// The table's address and size in one word, for readers that only prefetch.
  @inlinable @inline(__always)
  var hint: UInt { UInt(bitPattern: words) | UInt(truncatingIfNeeded: shift) }

  @inlinable
  var capacity: Int { Int(truncatingIfNeeded: mask) &+ 1 }

  @inlinable @inline(__always)
  func home(of tag: UInt32) -> Int { Int(truncatingIfNeeded: tag &>> shift) }

  @inlinable @inline(__always)
  func next(_ place: Int) -> Int { (place &+ 1) & Int(truncatingIfNeeded: mask) }

  /// The place of `slot`, which must be in the table.
  @inlinable
  func place(of slot: UInt32, tag: UInt32) -> Int {
    let word = UInt64(tag) &<< 32 | UInt64(slot &+ 1)
    var place = home(of: tag)
    while words[place] != word { place = next(place) }
    return place
  }

  /// Adds a word where there is room for it.
  @inlinable
  func insert(_ slot: UInt32, tag: UInt32) {
    var place = home(of: tag)
    while words[place] != 0 { place = next(place) }
    words[place] = UInt64(tag) &<< 32 | UInt64(slot &+ 1)
  }

  /// Empties a place and closes the gap that this leaves.
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
        hole = candidate
      }
    }
    words[hole] = 0
  }

  /// A table of another size with the same words; this one is freed.
  @inlinable @inline(never)
  mutating func resize(toLog2 log2: UInt32) {
    let resized = MemoryIndex(capacityLog2: log2)
    for place in 0..<capacity {
      let word = words[place]
      guard word != 0 else { continue }
      var target = resized.home(of: UInt32(truncatingIfNeeded: word &>> 32))
      while resized.words[target] != 0 { target = resized.next(target) }
      resized.words[target] = word
    }
    deallocate()
    self = resized
  }

  @inlinable
  func deallocate() { UnsafeMutableRawPointer(words).deallocate() }
}
