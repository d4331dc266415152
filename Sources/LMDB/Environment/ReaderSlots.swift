import Platform
import Synchronization

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

/// A renewed read transaction and the busy slot it lives in.
@usableFromInline
struct ReaderLease {
  /// The address of the `ReaderSlot`.
  @usableFromInline let slot: UnsafeMutableRawPointer
  @usableFromInline let transaction: OpaquePointer
  /// The environment's, which ends the lease itself when its `withReadTransaction` returns.
  let control: UnsafeMutablePointer<Control>

  @inline(__always)
  init(slot: ReaderSlot, transaction: OpaquePointer, _ control: UnsafeMutablePointer<Control>) {
    self.slot = slot.base
    self.transaction = transaction
    self.control = control
  }
}
