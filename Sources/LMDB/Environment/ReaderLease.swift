/// A renewed read transaction and the busy slot it lives in.
@usableFromInline
struct ReaderLease {
  /// Where the `ReaderSlot` is.
  @usableFromInline let slot: UnsafeMutableRawPointer
  @usableFromInline let transaction: OpaquePointer

  @inline(__always)
  init(slot: ReaderSlot, transaction: OpaquePointer) {
    self.slot = slot.base
    self.transaction = transaction
  }
}
