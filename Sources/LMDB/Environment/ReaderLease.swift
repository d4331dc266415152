/// A renewed read transaction and the busy slot it lives in.
@usableFromInline
struct ReaderLease {
  /// The address of the `ReaderSlot`.
  @usableFromInline let slot: UnsafeMutableRawPointer
  @usableFromInline let transaction: OpaquePointer
  /// Unmanaged: the environment ends the lease itself when its `withReadTransaction` returns.
  let environment: Unmanaged<Environment>

  @inline(__always)
  init(slot: ReaderSlot, transaction: OpaquePointer, _ environment: Environment) {
    self.slot = slot.base
    self.transaction = transaction
    self.environment = .passUnretained(environment)
  }
}
