import Synchronization

/// What an ``EntryReader`` points to, whatever the type of its content.
///
/// Reading is two calls that are not inlined, and that are declared not to release anything: so the compiler need not
/// keep alive, by counting references, what the pointer was read from. (Of an atomic operation in the caller's own code
/// it would have to assume that it releases.)
@usableFromInline
struct EntryState: ~Copyable {
  /// To an initialized `EntryReader.Copy`, which begins with a stamp, or nil.
  let current = Atomic<UnsafeMutableRawPointer?>(nil)
  let observer: Unmanaged<EntryVersionObserver>
  let stripes: Unmanaged<ReaderStripes>

  init(_ observer: EntryVersionObserver) {
    self.observer = .passUnretained(observer)
    stripes = .passUnretained(ReaderStripes.shared)
  }

  /// A copy that stays as long as the stripe is locked, or `nil` if none is current: then nothing is locked.
  @usableFromInline
  struct Reading: BitwiseCopyable {
    @usableFromInline let copy: UnsafeRawPointer?
    let lock: UnsafeMutablePointer<ShortLock>
  }

  @_effects(releasenone) @usableFromInline @inline(never)
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

  @_effects(releasenone) @usableFromInline @inline(never)
  static func end(_ reading: Reading) { reading.lock.pointee.unlock() }

  // MARK: Plain contents

  /// A content of two words, its stamp before it, behind a sequence lock (Boehm, "Can seqlocks get along with programming
  /// language memory models?", 2012): readers read what a writer may be writing, and look again if it did.
  private let sequence = Atomic<UInt64>(0)
  private let version = Atomic<UInt64>(0)
  private let position = Atomic<UInt64>(0)
  private let expires = Atomic<Int64>(0)
  private let hasContent = Atomic<Bool>(false)
  private let first = Atomic<UInt64>(0)
  private let second = Atomic<UInt64>(0)
  private let writing = ShortLock()

  @usableFromInline
  struct Words: BitwiseCopyable {
    @usableFromInline
    enum State: UInt8, BitwiseCopyable { case changed, nothing, content }

    @usableFromInline let state: State
    @usableFromInline let content: (UInt64, UInt64)
  }

  @_effects(releasenone) @usableFromInline @inline(never)
  static func words(_ state: UnsafeMutablePointer<EntryState>) -> Words {
    let sequence = state.pointee.sequence.load(ordering: .acquiring)
    let stamp = EntryVersionObserver.Stamp(
      version: state.pointee.version.load(ordering: .relaxed),
      position: state.pointee.position.load(ordering: .relaxed),
      expires: state.pointee.expires.load(ordering: .relaxed))
    let hasContent = state.pointee.hasContent.load(ordering: .relaxed)
    let content = (state.pointee.first.load(ordering: .relaxed), state.pointee.second.load(ordering: .relaxed))
    atomicMemoryFence(ordering: .acquiring)
    // Nothing was kept yet, or is being kept, or was kept meanwhile: loading it is always right.
    guard sequence != 0, sequence & 1 == 0, state.pointee.sequence.load(ordering: .relaxed) == sequence,
      state.pointee.observer._withUnsafeGuaranteedRef({ $0.isCurrent(stamp) })
    else { return Words(state: .changed, content: (0, 0)) }
    return Words(state: hasContent ? .content : .nothing, content: content)
  }

  static func keep(
    _ state: UnsafeMutablePointer<EntryState>, _ stamp: EntryVersionObserver.Stamp, _ content: (UInt64, UInt64)?
  ) {
    state.pointee.writing.withLock {
      let sequence = state.pointee.sequence.load(ordering: .relaxed)
      state.pointee.sequence.store(sequence &+ 1, ordering: .relaxed)
      atomicMemoryFence(ordering: .releasing)
      state.pointee.version.store(stamp.version, ordering: .relaxed)
      state.pointee.position.store(stamp.position, ordering: .relaxed)
      state.pointee.expires.store(stamp.expires, ordering: .relaxed)
      state.pointee.hasContent.store(content != nil, ordering: .relaxed)
      state.pointee.first.store(content?.0 ?? 0, ordering: .relaxed)
      state.pointee.second.store(content?.1 ?? 0, ordering: .relaxed)
      state.pointee.sequence.store(sequence &+ 2, ordering: .releasing)
    }
  }
}
