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
      let entry = table.entries + place
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
  mutating func keepsForNow(_ slot: UInt32, _ entry: UnsafeMutablePointer<Entry>) -> Bool {
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
  mutating func moveToMain(_ slot: UInt32, _ entry: UnsafeMutablePointer<Entry>) {
    unlink(slot, isMain: entry.pointee.isMain)
    entry.pointee.isMain = true
    main.push(slot, in: slabs)
  }

  /// Pushes an entry to the small queue, with its uses there reset.
  @inlinable @inline(__always)
  mutating func pushSmall(_ slot: UInt32, _ entry: UnsafeMutablePointer<Entry>) {
    pushes &+= 1
    if pushes &* 4 > small.count {
      generation = (generation &+ 1) & (MemoryUse.generations &- 1)
      pushes = 0
    }
    entry.pointee.use = entry.pointee.use.queued(in: generation)
    small.push(slot, in: slabs)
  }
}
