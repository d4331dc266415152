import Platform
import Synchronization

/// The writes of this process that are not committed yet: where they are appended, and where readers find them.
///
/// It owns the segments and their numbers, the stamps, and what is hidden since it could not be recorded. Apart from
/// making its file, and giving back and getting its blocks, it does no I/O but through the file's map.
///
/// A segment is *spare*, then *active* while writes are appended to it, then *sealed* until the writer thread has
/// committed it, then spare again. Numbers count the segments as they become active, so that "everything up to number n
/// is committed" says what a waiting write needs to know.
///
/// Threads: any. Everything is guarded by ``lock``, which is also what the writer thread sleeps on. Sealed segments are
/// read without it while they are committed: nobody changes them then.
// Sendable: `state` is touched with `lock` held only; sealed segments are immutable; the rest is atomic or constant.
final class Journal: @unchecked Sendable {
  let lock: ConditionLock
  let clock: CacheClock
  /// Whether anything waits to be committed. Readers skip the lock while nothing does.
  let hasPending = Atomic<Bool>(false)
  /// Whether the file is made.
  let hasFile = Atomic<Bool>(false)
  /// The position of the transaction that commits the segments up to ``State/committingNumber``, or 0 if none is under
  /// way.
  let committingPosition = Atomic<UInt64>(0)
  /// The thread that commits; 0 before it runs. It cannot wait for itself.
  let writerThread = Atomic<UInt>(0)

  let tagRemovals = TagRemovals()

  /// Told of what keeps writes from being recorded, with the lock held. Set once, before the first write.
  var reportFailure: (CacheError) -> Void = { _ in }

  private let makeFile: @Sendable () throws(CacheError) -> JournalFile

  // Behind a pointer: the run-time exclusivity check of a class's own property costs as much as the lock.
  private let stateMemory: UnsafeMutablePointer<State>
  var state: State {
    @inline(__always) unsafeAddress { UnsafePointer(stateMemory) }
    @inline(__always) unsafeMutableAddress { stateMemory }
  }

  struct State: ~Copyable {
    var file: JournalFile?
    /// The segment that writes are appended to, or `nil` before the first write.
    var active: JournalSegment?
    var spare: [JournalSegment] = []
    /// Oldest first.
    var sealed: [JournalSegment] = []
    /// Spare ones that are with the writer thread: see ``Journal/giveBlocksBack()``.
    var givingBack: [JournalSegment] = []
    /// The stamp of the last frame in the segments that were active before.
    var previousStamp: UInt64 = 0

    var lastNumber = 0
    /// Every segment up to this number is committed.
    var committedNumber = 0
    /// Every segment up to this number is being committed, or is committed.
    var committingNumber = 0
    /// Segments up to this number are to be committed at once.
    var requestedNumber = 0
    /// Segments up to this number are committed, and could not be synchronized when they had to be.
    var unsynchronized: (number: Int, error: CacheError)?

    /// Whether the write that follows is made since nobody else can have changed the entry: see ``ExclusiveUse``.
    var isClaimed = false
    /// The segment of the last such write.
    var lastConditional = 0
    /// Whether there is one that is not committed, as far as was looked.
    var hasConditional = false

    /// What was written by this process.
    var writes = WriteCounts()
    var stamps: StampClock
    var hidden = HiddenKeys()
    /// Why the latest write could not be recorded, if it could not; and when that was, on the monotonic clock.
    var unrecorded: (error: CacheError, time: Int64)?
    /// Why a value is in memory only that was written since the last flush.
    var unflushable: CacheError?
    var gate = JournalGate.open

    /// The segment that was active at the last look, and how many looks in a row found nothing written.
    var lookedAt = 0
    var idleLooks = 0
    /// Whether the file system has no holes.
    var keepsBlocks = false
  }

  /// - Parameter makeFile: Makes the journal's file, at the first write.
  init(
    lock: ConditionLock, clock: CacheClock, stamps: StampClock,
    makeFile: @escaping @Sendable () throws(CacheError) -> JournalFile
  ) {
    self.lock = lock
    self.clock = clock
    self.makeFile = makeFile
    stateMemory = .allocate(capacity: 1)
    stateMemory.initialize(to: State(stamps: stamps))
  }

  deinit {
    stateMemory.deinitialize(count: 1)
    stateMemory.deallocate()
  }

  var writes: WriteCounts { lock.withLock { state.writes } }

  /// Bytes of what waits for its commit, bytes of the file, and whether what is written is recorded and committed.
  var fill: (used: Int, size: Int, isHealthy: Bool) {
    lock.withLock {
      let waiting = state.sealed + [state.active].compactMap(\.self)
      let used = waiting.reduce(0) { $0.addingClamped($1.used - JournalSegment.headerSize) }
      let size = max(0, (state.file?.map.size ?? 0) - JournalFile.headerSize)
      return (used, size, state.gate.failure == nil && unrecorded == nil)
    }
  }

  /// Identifies the journal's file in the database, or `nil` before it is made.
  var identifier: UInt64? { lock.withLock { state.file?.identifier } }

  // MARK: The file. With the lock held

  /// Makes the file before the first write.
  ///
  /// - Throws: What making it throws, and for a while the same error again without a new attempt.
  func makeFileIfNeeded() throws(CacheError) {
    if state.active != nil { return }
    if case .failing(let failure) = state.gate, clock.monotonic < failure.retryAt { throw failure.error }
    do throws(CacheError) {
      adopt(try makeFile())
    } catch {
      reportFailure(error)
      throw error
    }
  }

  private func adopt(_ file: consuming JournalFile) {
    state.spare = file.makeSegments()
    state.file = consume file
    hasFile.store(true, ordering: .releasing)
    sealActive()
  }

  /// Goes on in a new file, since the old one was deleted: a journal without a name is replayed by nobody. What waits in
  /// the old one is to be committed at once.
  func renewFile() throws(CacheError) {
    let file = try makeFile()
    if let active = state.active {
      if active.isEmpty {
        // The new one gets its number: everything before the active segment is committed some time.
        state.lastNumber -= 1
      } else {
        state.sealed.append(active)
        state.requestedNumber = max(state.requestedNumber, active.number)
      }
    }
    state.active = nil
    // It is a journal of its own: nothing goes before its first frame.
    state.previousStamp = 0
    adopt(file)
    // Others wait for what is committed from the old one, and look for that here.
    if state.hasConditional { _ = state.file?.exclusiveUse.claim() }
  }

  /// Ends the journal and says which file it had, or `nil` if none was made. The segments go before their map.
  func end() -> (identifier: UInt64, identity: FileIdentity)? {
    lock.withLock {
      state.active = nil
      state.spare = []
      state.sealed = []
      state.givingBack = []
      let location = state.file?.location
      state.file = nil
      return location
    }
  }

  // MARK: Segments. With the lock held

  /// Hands the active segment over to the writer thread. There has to be a spare one.
  func sealActive() {
    let next = state.spare.removeLast()
    if let active = state.active {
      state.sealed.append(active)
      if !active.isEmpty { state.previousStamp = active.lastStamp }
    }
    next.follow(state.previousStamp)
    state.lastNumber += 1
    next.number = state.lastNumber
    state.active = next
  }

  /// Sends readers to the lock.
  ///
  /// Before a write is announced to the memory tiers, never after: a reader that takes its token after the announcement
  /// must not find the older value in the database.
  func markPending() { hasPending.store(true, ordering: .releasing) }

  /// Hides what is on the disk, since something newer than it could not be applied.
  func hide(_ keys: HiddenKeys) {
    if keys.isEmpty { return }
    state.hidden.formUnion(keys)
    for (tag, stamp) in keys.tags { tagRemovals.note(tag, stamp: stamp) }
    markPending()
  }
}
