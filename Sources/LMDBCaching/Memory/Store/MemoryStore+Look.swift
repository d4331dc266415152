public import CPlatform
public import Synchronization

// Look-ups without a lock; MemoryStore explains why they are correct.

extension MemoryStore {
  /// The longest entry that is copied. A longer one is read under the lock: copying takes as long.
  @inlinable static var longestCopy: Int { MemoryReader.scratchBytes }

  /// How often a look-up retries after concurrent changes before it takes the lock.
  @inlinable static var mostAttempts: Int { 8 }

  /// How many places are searched. Only in a table under change can an entry be farther from its home.
  @inlinable static var mostPlaces: Int { 256 }

  /// Whether an entry can be moved bytewise; not so for a type with weak references, for example.
  @inlinable @inline(__always)
  static var isCopied: Bool {
    MemoryLayout<Entry>.stride <= longestCopy && MemoryLayout<Entry>.alignment <= 16 && _isBitwiseTakable(Key.self)
      && _isBitwiseTakable(Value.self)
  }

  /// Looks `key` up for an announced reader, and counts the hit or miss.
  @inlinable @inline(__always)
  func look<R>(
    _ key: borrowing Key, hash: UInt64, tick: UInt32, as reader: UnsafeMutablePointer<MemoryReader>,
    needsStamps: () -> Bool, _ body: (MemoryEntryAccess<Key, Value>) -> R?
  ) -> MemoryLook<R> {
    let copy = MemoryReader.scratch(of: reader).assumingMemoryBound(to: Entry.self)
    for _ in 0..<Self.mostAttempts {
      let mask = mask.load(ordering: .relaxed)
      let shard = shard(number(of: hash, mask: mask))
      guard let version = shard.pointee.version.version() else { return .undecided }
      let state = shard.pointee.view.state.load(ordering: .relaxed)
      let words = shard.pointee.view.words.load(ordering: .relaxed)
      let base = shard.pointee.view.entries.load(ordering: .relaxed)
      guard shard.pointee.version.isCurrent(version) else { continue }
      // The store is closed or resharded.
      if Int32(truncatingIfNeeded: state &>> 32) != Int32(truncatingIfNeeded: mask) { return .undecided }
      guard let found = Self.search(words, hash: hash) else { return .undecided }
      guard found.word != 0 else {
        guard shard.pointee.version.isCurrent(version) else { continue }
        reader.pointee.countMiss()
        return .miss
      }
      let entry =
        UnsafeMutableRawPointer(bitPattern: base).unsafelyUnwrapped + found.place &* MemoryLayout<Entry>.stride
      Self.peek(copy, entry)
      MemoryTable<Key, Value>.prefetchValue(of: copy)
      guard shard.pointee.version.isCurrent(version) else { continue }
      // The entry is valid, and its references stay until this reader leaves.
      guard MemoryTable<Key, Value>.isOf(key, copy) else { return .undecided }
      if copy.pointee.hasExpiry {
        guard let expires = peekExpiry(shard, version, slot: found.slot) else { continue }
        if expires <= clock.now { return .undecided }
      }
      var stamps = MemoryStamps(stamp: 0, validated: 0)
      if needsStamps() {
        guard let found = peekStamps(shard, version, slot: found.slot) else { continue }
        stamps = found
      }
      // The hit is noted before the value is retained: code in between would make the compiler retain it twice.
      Self.noteUse(entry, copy, in: UInt8(truncatingIfNeeded: state), at: tick)
      reader.pointee.countHit()
      let result = withUnsafeMutablePointer(to: &stamps) { body(MemoryEntryAccess(entry: copy, stamps: $0)) }
      if let result { return .hit(result) }
      reader.pointee.countMissForHit()
      return .miss
    }
    return .undecided
  }

  // MARK: Parts

  @frozen @usableFromInline struct Word {
    @usableFromInline let word: UInt64
    @usableFromInline let place: Int

    @inlinable @inline(__always)
    init(word: UInt64, place: Int) {
      self.word = word
      self.place = place
    }

    @inlinable @inline(__always)
    var slot: UInt32 { UInt32(truncatingIfNeeded: word) &- 1 }
  }

  /// The first word with the hash's tag, or an empty one; `nil` if neither is near.
  @inlinable @inline(__always)
  static func search(_ address: UInt, hash: UInt64) -> Word? {
    let tag = hash & 0xFFFF_FFFF
    let shift = UInt64(truncatingIfNeeded: address & 63)
    let words = UnsafeRawPointer(bitPattern: address & ~63).unsafelyUnwrapped
    let mask = Int(truncatingIfNeeded: 0xFFFF_FFFF as UInt64 &>> shift)
    var place = Int(truncatingIfNeeded: tag &>> shift)
    for _ in 0..<mostPlaces {
      let word = cplatform_peek(words + place &* 8)
      if word &>> 32 == tag || word == 0 { return Word(word: word, place: place) }
      place = (place &+ 1) & mask
    }
    return nil
  }

  @inlinable @inline(__always)
  static func peek(_ copy: UnsafeMutablePointer<Entry>, _ entry: UnsafeRawPointer) {
    if MemoryLayout<Entry>.alignment >= 8 {
      cplatform_peek_words(copy, entry, MemoryLayout<Entry>.stride)
    } else {
      cplatform_peek_halves(copy, entry, MemoryLayout<Entry>.stride)
    }
  }

  /// Notes a use of the entry behind `copy`. Stores only changes, so that the line of a hot entry stays shared between
  /// the processors.
  @inlinable @inline(__always)
  static func noteUse(
    _ entry: UnsafeMutableRawPointer, _ copy: UnsafeMutablePointer<Entry>, in generation: UInt8, at tick: UInt32
  ) {
    let use = copy.pointee.use
    if use.generation != generation {
      let offset = withUnsafeMutablePointer(to: &copy.pointee.use) { UnsafeRawPointer($0) - UnsafeRawPointer(copy) }
      cplatform_poke_byte(entry + offset, use.used(in: generation).bits)
    }
    if copy.pointee.accessed != tick {
      let offset = withUnsafeMutablePointer(to: &copy.pointee.accessed) {
        UnsafeRawPointer($0) - UnsafeRawPointer(copy)
      }
      cplatform_poke_half(entry + offset, tick)
    }
  }

  /// The slot's memory in its chunk, without the field's offset; `nil` after a change.
  @inlinable @inline(__always)
  func peekChunk(_ shard: UnsafeMutablePointer<Shard>, _ version: UInt64, slot: UInt32) -> UnsafeRawPointer? {
    let table = shard.pointee.view.slabs.load(ordering: .relaxed)
    guard shard.pointee.version.isCurrent(version) else { return nil }
    // The base is the first word of a slab.
    let slab =
      UnsafeRawPointer(bitPattern: table).unsafelyUnwrapped
      + Int(truncatingIfNeeded: slot &>> MemorySlabs.slotsLog2) &* MemoryLayout<MemorySlab>.stride
    let base = cplatform_peek_address(slab)
    guard shard.pointee.version.isCurrent(version) else { return nil }
    return UnsafeRawPointer(bitPattern: base)
  }

  /// When the slot's entry expires; `nil` after a change.
  @inlinable @inline(never)
  func peekExpiry(_ shard: UnsafeMutablePointer<Shard>, _ version: UInt64, slot: UInt32) -> Int64? {
    guard let chunk = peekChunk(shard, version, slot: slot) else { return nil }
    let number = Int(truncatingIfNeeded: slot & (MemorySlabs.slotsPerSlab &- 1))
    let offset = number &* MemoryLayout<MemoryDetails>.stride &+ MemoryDetails.expiresOffset
    let expires = Int64(bitPattern: cplatform_peek(chunk + offset))
    return shard.pointee.version.isCurrent(version) ? expires : nil
  }

  @inlinable @inline(never)
  func peekStamps(_ shard: UnsafeMutablePointer<Shard>, _ version: UInt64, slot: UInt32) -> MemoryStamps? {
    guard let chunk = peekChunk(shard, version, slot: slot) else { return nil }
    let number = Int(truncatingIfNeeded: slot & (MemorySlabs.slotsPerSlab &- 1))
    let offset = MemorySlabs.stampsOffset &+ number &* MemoryLayout<MemoryStamps>.stride
    let stamps = MemoryStamps(stamp: cplatform_peek(chunk + offset), validated: cplatform_peek(chunk + offset + 8))
    return shard.pointee.version.isCurrent(version) ? stamps : nil
  }
}
