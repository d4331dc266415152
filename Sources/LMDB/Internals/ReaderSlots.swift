/// A fixed array of reader slots, each aligned to ``ReaderSlot/size``.
// @unchecked: the pointer never changes, and a slot's contents belong to whoever made it busy.
struct ReaderSlots: @unchecked Sendable {
  private let base: UnsafeMutableRawPointer
  let count: Int

  init(count: Int) {
    base = .allocate(byteCount: count * ReaderSlot.size, alignment: ReaderSlot.size)
    self.count = count
    for index in 0..<count {
      self[index].initialize()
    }
  }

  @inline(__always)
  subscript(index: Int) -> ReaderSlot {
    ReaderSlot(at: base + index &* ReaderSlot.size)
  }

  /// The slot that the calling thread tries first. Threads spread by a multiplicative hash of their identity.
  @inline(__always)
  var preferred: Int {
    let hash = UInt64(Platform.currentThread) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: (hash >> 32) &* UInt64(truncatingIfNeeded: count) >> 32)
  }

  var allFree: Bool {
    (0..<count).allSatisfy { self[$0].isFree }
  }

  func deallocate() {
    for index in 0..<count {
      self[index].deinitialize()
    }
    base.deallocate()
  }
}
