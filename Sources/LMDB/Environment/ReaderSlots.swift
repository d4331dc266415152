import Platform

/// A fixed array of reader slots, each aligned to ``ReaderSlot/size``.
///
/// The first ones keep their reader table slots when their snapshots end; the others, used under load, release them.
// @unchecked: the pointer never changes, and a slot's contents belong to the thread that made it busy.
package struct ReaderSlots: @unchecked Sendable {
  private let base: UnsafeMutableRawPointer
  package let count: Int
  /// The number of slots that keep their reader table slots.
  package let kept: Int

  package init(count: Int, kept: Int) {
    base = .allocate(byteCount: count * ReaderSlot.size, alignment: ReaderSlot.size)
    self.count = count
    self.kept = min(max(1, kept), count)
    for index in 0..<count {
      self[index].initialize()
    }
  }

  @inline(__always)
  subscript(index: Int) -> ReaderSlot {
    ReaderSlot(at: base + index &* ReaderSlot.size)
  }

  /// The slot that the calling thread tries first: a multiplicative hash of the thread's identity over the kept slots.
  @inline(__always)
  package var preferred: Int {
    let hash = UInt64(PlatformThread.current) &* 0x9E37_79B9_7F4A_7C15
    // The parentheses matter: Swift shifts before it multiplies.
    return Int(truncatingIfNeeded: ((hash >> 32) &* UInt64(truncatingIfNeeded: kept)) >> 32)
  }

  @inline(__always)
  func keepsPlace(_ slot: ReaderSlot) -> Bool { slot.base < base + kept &* ReaderSlot.size }

  var allFree: Bool {
    (0..<count).allSatisfy { self[$0].isFree }
  }

  package func deallocate() {
    for index in 0..<count {
      self[index].deinitialize()
    }
    base.deallocate()
  }
}
