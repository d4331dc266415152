import Synchronization

/// The part of an ``EntryReader`` that does not depend on the type of its content.
@usableFromInline
struct EntryState: ~Copyable {
  /// Points to an initialized `EntryReader.Copy`, which begins with a stamp, or nil.
  let current = Atomic<UnsafeMutableRawPointer?>(nil)
  /// Unmanaged, so that reading counts no references: the ``EntryContent`` that frees this state keeps the observer.
  let observer: Unmanaged<EntryVersionObserver>
  /// Unmanaged: the stripes are never freed.
  let stripes: Unmanaged<ReaderStripes>

  init(_ observer: EntryVersionObserver) {
    self.observer = .passUnretained(observer)
    stripes = .passUnretained(ReaderStripes.shared)
  }

  /// A copy that stays valid while the stripe is locked; `nil`, without a lock, if not current.
  @usableFromInline
  struct Reading: BitwiseCopyable {
    @usableFromInline let copy: UnsafeRawPointer?
    let lock: UnsafeMutablePointer<ShortLock>
  }

  @usableFromInline @inline(never)
  static func begin(_ state: UnsafeMutablePointer<EntryState>) -> Reading {
    let lock = state.pointee.stripes._withUnsafeGuaranteedRef { $0.mine }
    lock.pointee.lock()
    if let copy = state.pointee.current.load(ordering: .acquiring),
      state.pointee.observer._withUnsafeGuaranteedRef({
        $0.isCurrent(copy.loadUnaligned(as: EntryVersionObserver.Stamp.self))
      })
    {
      return Reading(copy: copy, lock: lock)
    }
    lock.pointee.unlock()
    return Reading(copy: nil, lock: lock)
  }

  /// Afterwards another thread may release the content. Not inlined, so that the compiler assumes this and retains the
  /// content before.
  @usableFromInline @inline(never)
  static func end(_ reading: Reading) { reading.lock.pointee.unlock() }
}
