extension MemoryCore {
  /// The ghost remembers as many evictions as the main queue has room for: nine tenths of the entries.
  @inlinable
  var ghostWindow: Int { max(16, count &- count / 10) }

  /// Evicts one entry by S3-FIFO (Yang et al., SOSP 2023), or one that has expired, and returns what it held.
  ///
  /// - Parameters:
  ///   - byCost: whether the tenth that is the small queue's share is of the cost rather than of the count.
  ///   - kept: a slot that must stay, `MemoryDetails.none` for none.
  /// - Returns: nil when there is no other entry.
  @inlinable
  mutating func evict(byCost: Bool, keeping kept: UInt32, clock: CacheClock, cost: inout Int64) -> Pair? {
    // Every turn lowers a counter or moves an entry out of the small queue, but a shard whose entries were all hit
    // often could take as many turns as three times its entries.
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
        let isFull = byCost ? small.cost >= self.cost / 10 : small.count &* 10 >= count
        slot = isFull ? young : old
      }
      let place = place(of: slot)
      let entry = table.entries + place
      let isExpired = entry.pointee.hasExpiry && slabs.details(slot).pointee.expires <= clock.now
      if !isExpired, turns < 1_024 {
        if entry.pointee.isMain {
          if entry.pointee.frequency > 0 {
            entry.pointee.frequency &-= 1
            moveToMain(slot, entry)
            continue
          }
        } else if entry.pointee.frequency >= 2 {
          entry.pointee.frequency = 0
          moveToMain(slot, entry)
          continue
        }
      }
      if isExpired {
        expirations &+= 1
      } else {
        evictions &+= 1
        if !entry.pointee.isMain {
          ghost.insert(UInt32(truncatingIfNeeded: slabs.details(slot).pointee.hash), window: ghostWindow)
        }
      }
      cost = slabs.details(slot).pointee.cost
      return take(at: place)
    }
  }

  @inlinable @inline(__always)
  func candidate(_ tail: UInt32, keeping kept: UInt32) -> UInt32 {
    tail == kept && tail != MemoryDetails.none ? slabs.details(tail).pointee.previous : tail
  }

  @inlinable
  mutating func moveToMain(_ slot: UInt32, _ entry: UnsafeMutablePointer<Entry>) {
    unlink(slot, isMain: entry.pointee.isMain)
    entry.pointee.isMain = true
    main.push(slot, in: slabs)
  }
}
