import Platform

/// A fixed array of reader slots, each aligned to ``ReaderSlot/size``.
///
/// The first ones keep their places in the reader table, which all processes share, when their snapshots end. The
/// others are for when those do not suffice, and give the places back.
// @unchecked: the pointer never changes, and a slot's contents belong to whoever made it busy.
package struct ReaderSlots: @unchecked Sendable {
  private let base: UnsafeMutableRawPointer
  package let count: Int
  /// How many keep their places.
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

  /// The slot that the calling thread tries first. Threads spread over those that keep their places by a multiplicative
  /// hash of their identity.
  @inline(__always)
  package var preferred: Int {
    let hash = UInt64(PlatformThread.current) &* 0x9E37_79B9_7F4A_7C15
    // The parentheses matter: Swift shifts before it multiplies.
    return Int(truncatingIfNeeded: ((hash >> 32) &* UInt64(truncatingIfNeeded: kept)) >> 32)
  }

  /// Whether a slot keeps its place in the reader table.
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
