/// The hash tags of entries recently evicted from a queue.
///
/// A set-associative table of `tag << 32 | insertion number` words, eight to a set, so a look-up reads one cache line.
/// It remembers the last `window` insertions; the oldest of a full set goes first. Owned memory: `deallocate()` frees
/// it.
@frozen @usableFromInline
struct MemoryGhost {
  @usableFromInline var words: UnsafeMutablePointer<UInt64>?
  @usableFromInline var sets: UInt32 = 0
  /// Counts insertions; starts at 1 and skips 0, so that an empty word never matches.
  @usableFromInline var clock: UInt32 = 1

  @inlinable static var ways: Int { 8 }

  @inlinable
  init() {}

  @inlinable @inline(__always)
  func set(of tag: UInt32) -> UnsafeMutablePointer<UInt64>? {
    guard let words else { return nil }
    return words + Int(truncatingIfNeeded: (UInt64(tag) &* UInt64(sets)) &>> 32) &* Self.ways
  }

  /// Forgets `tag` and returns its age in insertions, or `nil` if that exceeds `window`.
  @inlinable
  mutating func take(_ tag: UInt32, window: Int) -> Int? {
    guard let set = set(of: tag) else { return nil }
    for way in 0..<Self.ways where set[way] &>> 32 == UInt64(tag) && set[way] != 0 {
      let age = Int(clock &- UInt32(truncatingIfNeeded: set[way]))
      set[way] = 0
      return age <= window ? age : nil
    }
    return nil
  }

  @inlinable
  mutating func insert(_ tag: UInt32, window: Int) {
    if Int(sets) &* Self.ways < window { grow(toHold: window) }
    guard let set = set(of: tag) else { return }
    var victim = 0
    var oldest: UInt32 = 0
    for way in 0..<Self.ways {
      let word = set[way]
      if word == 0 || word &>> 32 == UInt64(tag) {
        victim = way
        break
      }
      let age = clock &- UInt32(truncatingIfNeeded: word)
      if age >= oldest {
        oldest = age
        victim = way
      }
    }
    set[victim] = UInt64(tag) &<< 32 | UInt64(clock)
    clock &+= 1
    if clock == 0 { clock = 1 }
  }

  /// Makes room for `window` words and a quarter more, since sets fill unevenly; keeps the words.
  @inlinable @inline(never)
  mutating func grow(toHold window: Int) {
    var grown = MemoryGhost()
    let places = max(64, window &+ window / 4)
    grown.sets = UInt32(clamping: (places &+ Self.ways &- 1) / Self.ways)
    grown.clock = clock
    let count = Int(grown.sets) * Self.ways
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: count * 8, alignment: 64)
    grown.words = bytes.initializeMemory(as: UInt64.self, repeating: 0, count: count)
    if let words {
      for place in 0..<(Int(sets) * Self.ways) where words[place] != 0 {
        guard let set = grown.set(of: UInt32(truncatingIfNeeded: words[place] &>> 32)) else { continue }
        for way in 0..<Self.ways where set[way] == 0 {
          set[way] = words[place]
          break
        }
      }
    }
    deallocate()
    self = grown
  }

  @inlinable
  func deallocate() {
    if let words { UnsafeMutableRawPointer(words).deallocate() }
  }
}
