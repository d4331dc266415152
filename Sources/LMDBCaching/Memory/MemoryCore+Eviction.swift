extension MemoryCore {
  /// Evicts and returns one entry, an expired one if the scan finds one.
  ///
  /// Adaptive S3-FIFO (Yang et al., SOSP 2023). New entries enter the small queue. At its tail, an entry used in two
  /// generations goes to the main queue, one used in this queue gets a second chance, and any other is evicted. In the
  /// main queue each use is one more turn. Entries stored again soon after their eviction enter the main queue, and
  /// move the border between the queues, as in ARC (Megiddo and Modha, FAST 2003).
  ///
  /// - Parameters:
  ///   - byCost: Whether the share is of the cost rather than of the count.
  ///   - share: The small queue's part of the room.
  ///   - kept: A slot that must stay, or `MemoryDetails.none`.
  /// - Returns: `nil` without another entry.
  @inlinable
  mutating func evict(
    byCost: Bool, share: Double, keeping kept: UInt32, clock: CacheClock, cost: inout Int64
  ) -> Pair? {
    if nextExpiry != .max || scanSlot != MemoryDetails.none,
      let slot = expiredSlot(keeping: kept, now: clock.coarseNow)
    {
      expirations &+= 1
      cost = slabs.details(slot).pointee.cost
      return take(at: place(of: slot))
    }
    // Every turn takes a use or a chance from an entry, but in a shard of hot entries that could take four turns for
    // each.
    var turns = 0
    while true {
      turns &+= 1
      let young = candidate(small.tail, keeping: kept)
      let old = candidate(main.tail, keeping: kept)
      let slot: UInt32
      if young == MemoryDetails.none {
        if old == MemoryDetails.none { return nil }
        slot = old
      } else if old == MemoryDetails.none {
        slot = young
      } else {
        let isShort =
          byCost
          ? Double(small.cost) < share * Double(self.cost) : Double(small.count) < share * Double(count)
        slot = isShort ? old : young
      }
      let place = place(of: slot)
      let entry = table.entry(at: place)
      let isExpired = entry.pointee.hasExpiry && slabs.details(slot).pointee.expires <= clock.now
      if !isExpired, turns < 1_024, keepsForNow(slot, entry) { continue }
      if isExpired {
        expirations &+= 1
      } else {
        evictions &+= 1
        ghosts.insert(
          UInt32(truncatingIfNeeded: slabs.details(slot).pointee.hash), isMain: entry.pointee.isMain, count: count)
      }
      cost = slabs.details(slot).pointee.cost
      return take(at: place)
    }
  }

  /// Slots that one eviction scans for expired entries.
  @inlinable static var scanLength: Int { 1_024 }
  /// Nanoseconds between scans for each entry; a scan takes a few percent of that.
  @inlinable static var scanPause: Int64 { 200 }

  /// The slot of an expired entry, if one is due and found.
  @inlinable @inline(never)
  mutating func expiredSlot(keeping kept: UInt32, now: Int64) -> UInt32? {
    if scanSlot == MemoryDetails.none {
      guard now >= nextExpiry, now &- lastScan >= Int64(count) &* Self.scanPause else { return nil }
      (scanSlot, lastScan, nextExpiry) = (0, now, .max)
    }
    var left = Self.scanLength
    while left > 0, Int32(truncatingIfNeeded: scanSlot >> MemorySlabs.slotsLog2) < slabs.tableCount {
      let slots = slabs.slots(ofChunk: Int32(truncatingIfNeeded: scanSlot >> MemorySlabs.slotsLog2))
      while scanSlot < slots.upperBound {
        defer { scanSlot &+= 1 }
        // `.min` marks a changing entry.
        guard slabs.isLive(scanSlot), slabs.details(scanSlot).pointee.expires != .min else { continue }
        let expires = slabs.details(scanSlot).pointee.expires
        if expires <= now, scanSlot != kept { return scanSlot }
        nextExpiry = min(nextExpiry, expires)
      }
      scanSlot = slots.lowerBound &+ MemorySlabs.slotsPerSlab
      left &-= Int(MemorySlabs.slotsPerSlab)
    }
    if left > 0 { scanSlot = MemoryDetails.none }
    return nil
  }

  /// Whether the shard has seven eighths of its share of a common limit.
  @inlinable @inline(__always)
  func hasItsPart(of limit: Int, byCost: Bool) -> Bool {
    let shards = Int(mask) &+ 1
    if shards <= 1 { return true }
    let part = limit &>> shards.trailingZeroBitCount
    return (byCost ? Int(truncatingIfNeeded: cost) : count) >= part &- part / 8
  }

  @inlinable @inline(__always)
  func candidate(_ tail: UInt32, keeping kept: UInt32) -> UInt32 {
    tail == kept && tail != MemoryDetails.none ? slabs.details(tail).pointee.previous : tail
  }

  /// Moves an entry at its queue's tail to its place; `false` to evict it.
  @inlinable @inline(__always)
  mutating func keepsForNow(_ slot: UInt32, _ entry: MemoryReference<Entry>) -> Bool {
    if entry.pointee.isMain {
      if entry.pointee.use.count == 0 { return false }
      entry.pointee.use.count &-= 1
      main.unlink(slot, in: slabs)
      main.push(slot, in: slabs)
    } else if entry.pointee.use.isTouched {
      small.unlink(slot, in: slabs)
      pushSmall(slot, entry)
    } else {
      if entry.pointee.use.count < 2 { return false }
      entry.pointee.use.count = 0
      moveToMain(slot, entry)
    }
    return true
  }

  @inlinable
  mutating func moveToMain(_ slot: UInt32, _ entry: MemoryReference<Entry>) {
    unlink(slot, isMain: entry.pointee.isMain)
    entry.pointee.isMain = true
    main.push(slot, in: slabs)
  }

  /// Pushes an entry to the small queue, with its uses there reset.
  @inlinable @inline(__always)
  mutating func pushSmall(_ slot: UInt32, _ entry: MemoryReference<Entry>) {
    pushes &+= 1
    if pushes &* 4 > small.count {
      generation = (generation &+ 1) & (MemoryUse.generations &- 1)
      pushes = 0
    }
    entry.pointee.use = entry.pointee.use.queued(in: generation)
    small.push(slot, in: slabs)
  }
}

/// The hash tags of entries recently evicted from a queue.
///
/// A set-associative table of `tag << 32 | insertion number` words, eight to a set, so a look-up reads one cache line.
/// It remembers the last `window` insertions; the oldest of a full set goes first. Owned memory: `deallocate()` frees
/// it.
@safe @frozen @usableFromInline
struct MemoryGhost {
  @usableFromInline var words: UnsafeMutablePointer<UInt64>?
  @usableFromInline var sets: UInt32 = 0
  /// Counts insertions; starts at 1 and skips 0, so that an empty word never matches.
  @usableFromInline var clock: UInt32 = 1

  @inlinable static var ways: Int { 8 }

  @inlinable
  init() {}

  @inlinable @inline(__always)
  func set(of tag: UInt32) -> Int { Int(truncatingIfNeeded: (UInt64(tag) &* UInt64(sets)) &>> 32) &* Self.ways }

  @inlinable @inline(__always)
  func word(_ place: Int) -> MemoryReference<UInt64> {
    assert(place >= 0 && place < Int(sets) &* Self.ways)
    return unsafe MemoryReference(words.unsafelyUnwrapped + place)
  }

  @inlinable @inline(__always)
  func prefetch(_ tag: UInt32) { if sets > 0 { word(set(of: tag)).prefetch() } }

  /// Forgets `tag` and returns its age in insertions, or `nil` if that exceeds `window`.
  @inlinable
  mutating func take(_ tag: UInt32, window: Int) -> Int? {
    if sets == 0 { return nil }
    let set = set(of: tag)
    for place in set..<(set &+ Self.ways) where word(place).pointee &>> 32 == UInt64(tag) && word(place).pointee != 0 {
      let age = Int(clock &- UInt32(truncatingIfNeeded: word(place).pointee))
      word(place).pointee = 0
      return age <= window ? age : nil
    }
    return nil
  }

  @inlinable
  mutating func insert(_ tag: UInt32, window: Int) {
    if Int(sets) &* Self.ways < window { grow(toHold: window) }
    if sets == 0 { return }
    let set = set(of: tag)
    var victim = set
    var oldest: UInt32 = 0
    for place in set..<(set &+ Self.ways) {
      let word = word(place).pointee
      if word == 0 || word &>> 32 == UInt64(tag) {
        victim = place
        break
      }
      let age = clock &- UInt32(truncatingIfNeeded: word)
      if age >= oldest {
        oldest = age
        victim = place
      }
    }
    word(victim).pointee = UInt64(tag) &<< 32 | UInt64(clock)
    clock &+= 1
    if clock == 0 { clock = 1 }
  }

  /// Makes room for `window` words and a quarter more, since sets fill unevenly; keeps the words.
  @usableFromInline @inline(never)
  mutating func grow(toHold window: Int) {
    var grown = MemoryGhost()
    let places = max(64, window &+ window / 4)
    grown.sets = UInt32(clamping: (places &+ Self.ways &- 1) / Self.ways)
    grown.clock = clock
    let count = Int(grown.sets) * Self.ways
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: count * 8, alignment: 64)
    unsafe grown.words = unsafe bytes.initializeMemory(as: UInt64.self, repeating: 0, count: count)
    for place in 0..<(Int(sets) * Self.ways) where word(place).pointee != 0 {
      let set = grown.set(of: UInt32(truncatingIfNeeded: word(place).pointee &>> 32))
      if let free = (set..<(set + Self.ways)).first(where: { grown.word($0).pointee == 0 }) {
        grown.word(free).pointee = word(place).pointee
      }
    }
    unsafe deallocate()
    self = grown
  }

  @unsafe func deallocate() {
    if let words = unsafe words { unsafe UnsafeMutableRawPointer(words).deallocate() }
  }
}

/// The recently evicted keys of a shard. Owned memory: `deallocate()` frees it.
@frozen @usableFromInline
struct MemoryGhosts {
  /// For the small queue: up to nine tenths of the entries.
  @usableFromInline var small = MemoryGhost()
  /// For the main queue: up to a tenth of the entries.
  @usableFromInline var main = MemoryGhost()

  @inlinable
  init() {}

  /// How a key was evicted that is stored again.
  @frozen @usableFromInline enum Recollection {
    case none
    /// Somewhat more room in the small queue would have kept it.
    case lateInSmall
    /// More room would not have kept it.
    case early
    /// Somewhat more room in the main queue would have kept it.
    case lateInMain
  }

  @inlinable
  static func smallWindow(_ count: Int) -> Int { max(16, count &- count / 10) }

  @inlinable
  static func mainWindow(_ count: Int) -> Int { max(4, count / 10) }

  /// Returns how a key was evicted, and forgets it. `count` is the number of entries in the shard.
  @inlinable
  mutating func recall(_ tag: UInt32, count: Int) -> Recollection {
    if let age = small.take(tag, window: Self.smallWindow(count)) {
      return age <= Self.mainWindow(count) ? .lateInSmall : .early
    }
    if main.take(tag, window: Self.mainWindow(count)) != nil { return .lateInMain }
    return .none
  }

  @inlinable
  mutating func insert(_ tag: UInt32, isMain: Bool, count: Int) {
    if isMain {
      main.insert(tag, window: Self.mainWindow(count))
    } else {
      small.insert(tag, window: Self.smallWindow(count))
    }
  }

  @unsafe func deallocate() {
    unsafe small.deallocate()
    unsafe main.deallocate()
  }
}

/// A first-in first-out list of slots: entries enter at the head and leave at the tail.
@frozen @usableFromInline
struct MemoryQueue {
  @usableFromInline var head: UInt32 = MemoryDetails.none
  @usableFromInline var tail: UInt32 = MemoryDetails.none
  @usableFromInline var count = 0
  @usableFromInline var cost: Int64 = 0
  /// The address and tag of the details when they reached the tail, only for prefetching.
  @usableFromInline var tailDetails: UInt = 0
  @usableFromInline var tailTag: UInt32 = 0

  @inlinable
  init() {}

  /// Pushes a slot with initialized details.
  @inlinable @inline(__always)
  mutating func push(_ slot: UInt32, in slabs: MemorySlabs) {
    let details = slabs.details(slot)
    details.pointee.previous = MemoryDetails.none
    details.pointee.next = head
    if head == MemoryDetails.none {
      tail = slot
      noteTail(details)
    } else {
      slabs.details(head).pointee.previous = slot
    }
    head = slot
    count &+= 1
    cost &+= details.pointee.cost
  }

  /// Removes a slot at any position.
  @inlinable @inline(__always)
  mutating func unlink(_ slot: UInt32, in slabs: MemorySlabs) {
    let details = slabs.details(slot)
    let (previous, next) = (details.pointee.previous, details.pointee.next)
    if previous == MemoryDetails.none { head = next } else { slabs.details(previous).pointee.next = next }
    if next == MemoryDetails.none {
      tail = previous
      if previous != MemoryDetails.none { noteTail(slabs.details(previous)) }
    } else {
      slabs.details(next).pointee.previous = previous
    }
    count &-= 1
    cost &-= details.pointee.cost
  }

  @inlinable @inline(__always)
  mutating func noteTail(_ details: MemoryReference<MemoryDetails>) {
    tailDetails = unsafe UInt(bitPattern: details.pointer)
    tailTag = UInt32(truncatingIfNeeded: details.pointee.hash)
  }
}
