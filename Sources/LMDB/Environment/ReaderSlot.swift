import Synchronization

/// A pointer to one slot of the reader pool: an LMDB read transaction, reset while the slot is free.
///
/// A slot fills 128 bytes (two cache lines, or one on Apple silicon) to avoid false sharing.
struct ReaderSlot {
  static let size = 128
  private static let free: UInt32 = 0
  private static let busy: UInt32 = 1
  private static let transactionOffset = 8

  let base: UnsafeMutableRawPointer

  @inline(__always)
  init(at base: UnsafeMutableRawPointer) {
    self.base = base
  }

  @inline(__always)
  private var state: UnsafeMutablePointer<Atomic<UInt32>> {
    base.assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  @inline(__always)
  private var place: UnsafeMutablePointer<OpaquePointer?> {
    (base + Self.transactionOffset).assumingMemoryBound(to: OpaquePointer?.self)
  }

  /// Owned by the thread that made the slot busy. `nil` until first used.
  @inline(__always)
  var transaction: OpaquePointer? {
    get { place.pointee }
    nonmutating set { place.pointee = newValue }
  }

  func initialize() {
    state.initialize(to: Atomic(Self.free))
    (base + Self.transactionOffset).initializeMemory(as: OpaquePointer?.self, to: nil)
  }

  func deinitialize() {
    state.deinitialize(count: 1)
    place.deinitialize(count: 1)
  }

  @inline(__always)
  func take() -> Bool {
    // Load first: a failing exchange would take the cache line from its owner.
    state.pointee.load(ordering: .relaxed) == Self.free
      && state.pointee.compareExchange(
        expected: Self.free, desired: Self.busy, ordering: .sequentiallyConsistent
      ).exchanged
  }

  @inline(__always)
  func giveBack() {
    state.pointee.store(Self.free, ordering: .releasing)
  }

  var isFree: Bool {
    state.pointee.load(ordering: .sequentiallyConsistent) == Self.free
  }
}
