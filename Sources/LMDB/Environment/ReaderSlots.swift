import Platform
import Synchronization

/// A fixed array of reader slots, each aligned to ``ReaderSlot/size``.
///
/// The first ones keep their reader table slots when their snapshots end; the others, used under load, release them.
// @unchecked: the pointer never changes, and a slot's contents belong to the thread that made it busy.
// @safe: as for a slot.
@safe package struct ReaderSlots: @unchecked Sendable {
  private let base: UnsafeMutableRawPointer
  package let count: Int
  /// The number of slots that keep their reader table slots.
  package let kept: Int

  package init(count: Int, kept: Int) {
    unsafe base = .allocate(byteCount: count * ReaderSlot.size, alignment: ReaderSlot.size)
    self.count = count
    self.kept = min(max(1, kept), count)
    for index in 0..<count { unsafe contents(index).initialize(to: ReaderSlot.Contents()) }
  }

  @inline(__always)
  private func contents(_ index: Int) -> UnsafeMutablePointer<ReaderSlot.Contents> {
    unsafe (base + index &* ReaderSlot.size).assumingMemoryBound(to: ReaderSlot.Contents.self)
  }

  @inline(__always)
  subscript(index: Int) -> ReaderSlot {
    precondition(index >= 0 && index < count)
    return unsafe ReaderSlot(contents(index), keepsPlace: index < kept)
  }

  /// The slot that the calling thread tries first: a multiplicative hash of the thread's identity over the kept slots.
  @inline(__always)
  package var preferred: Int {
    let hash = UInt64(PlatformThread.current) &* 0x9E37_79B9_7F4A_7C15
    // The parentheses matter: Swift shifts before it multiplies.
    return Int(truncatingIfNeeded: ((hash >> 32) &* UInt64(truncatingIfNeeded: kept)) >> 32)
  }

  var allFree: Bool { (0..<count).allSatisfy { self[$0].isFree } }

  @unsafe package func deallocate() {
    for index in 0..<count { unsafe contents(index).deinitialize(count: 1) }
    unsafe base.deallocate()
  }
}

/// One slot of the reader pool: an LMDB read transaction, reset while the slot is free.
///
/// A slot fills 128 bytes (two cache lines, or one on Apple silicon) to avoid false sharing.
// @safe: the environment frees the slots as its last act, and every user of one keeps the environment alive.
@usableFromInline
@safe struct ReaderSlot {
  fileprivate static let size = 128

  fileprivate struct Contents: ~Copyable {
    let isBusy = Atomic<Bool>(false)
    var transaction: TransactionHandle?
  }

  private let pointer: UnsafeMutablePointer<Contents>
  /// Whether it keeps its reader table slot when its snapshot ends.
  let keepsPlace: Bool

  @inline(__always)
  fileprivate init(_ pointer: UnsafeMutablePointer<Contents>, keepsPlace: Bool) {
    unsafe self.pointer = pointer
    self.keepsPlace = keepsPlace
  }

  private var contents: Contents {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(pointer) }
    @inline(__always) nonmutating unsafeMutableAddress { unsafe pointer }
  }

  /// Owned by the thread that made the slot busy. `nil` until first used.
  @inline(__always)
  var transaction: TransactionHandle? {
    get { contents.transaction }
    nonmutating set { contents.transaction = newValue }
  }

  /// Aborts the slot's transaction, which must not be used any more.
  @unsafe func endTransaction() {
    if let transaction { unsafe transaction.abort() }
    transaction = nil
  }

  @inline(__always)
  func take() -> Bool {
    // Load first: a failing exchange would take the cache line from its owner.
    !contents.isBusy.load(ordering: .relaxed)
      && contents.isBusy.compareExchange(expected: false, desired: true, ordering: .sequentiallyConsistent).exchanged
  }

  @inline(__always)
  func giveBack() { contents.isBusy.store(false, ordering: .releasing) }

  var isFree: Bool { !contents.isBusy.load(ordering: .sequentiallyConsistent) }
}

/// A renewed read transaction and the busy slot it lives in.
@usableFromInline
struct ReaderLease {
  let slot: ReaderSlot
  let transaction: TransactionHandle
  /// The environment's, which ends the lease itself when its `withReadTransaction` returns.
  let control: ControlReference
}
