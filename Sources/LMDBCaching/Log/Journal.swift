import Platform
import Synchronization

/// The uncommitted writes of this process: appended here, and found here by readers.
///
/// Owns the segments and their numbers, the stamps, and the hidden keys. Apart from creating its file and managing its
/// blocks, it does I/O only through the file's map.
///
/// A segment is *spare*, then *active* while writes are appended, then *sealed* until the writer thread has committed
/// it, then spare again. Segments are numbered as they become active, so "everything up to number n is committed" is
/// all that a waiting write needs.
///
/// Threads: any. ``lock`` guards everything, and the writer thread sleeps on it. Sealed segments are immutable, and so
/// are read without the lock while they are committed.
// Sendable: `state` is accessed only under `lock`; sealed segments are immutable; the rest is atomic or constant.
final class Journal: @unchecked Sendable {
  let lock: ConditionLock
  let clock: CacheClock
  /// Whether writes are uncommitted. Readers skip the lock if not.
  let hasPending = Atomic<Bool>(false)
  let hasFile = Atomic<Bool>(false)
  /// The position of the transaction that commits segments up to ``State/committingNumber``, or 0.
  let committingPosition = Atomic<UInt64>(0)
  /// The committing thread, which cannot wait for itself; 0 before it runs.
  let writerThread = Atomic<UInt>(0)

  let tagRemovals = TagRemovals()

  /// Called with the lock held when writes cannot be recorded. Set once, before the first write.
  var reportFailure: (CacheError) -> Void = { _ in }

  private let makeFile: @Sendable () throws(CacheError) -> JournalFile

  // Behind a pointer: a class property's run-time exclusivity check costs as much as the lock.
  private let stateMemory: UnsafeMutablePointer<State>
  var state: State {
    @inline(__always) unsafeAddress { UnsafePointer(stateMemory) }
    @inline(__always) unsafeMutableAddress { stateMemory }
  }

  struct State: ~Copyable {
    var file: JournalFile?
    var active: JournalSegment?
    var spare: [JournalSegment] = []
    var sealed: [JournalSegment] = []
    /// Spare segments held by ``Journal/giveBlocksBack()``.
    var givingBack: [JournalSegment] = []
    /// The stamp of the last frame in earlier segments.
    var previousStamp: UInt64 = 0

    var lastNumber = 0
    /// Every segment up to this number is committed.
    var committedNumber = 0
    /// Every segment up to this number is committed or being committed.
    var committingNumber = 0
    /// Segments up to this number must be committed at once.
    var requestedNumber = 0
    /// Segments up to this number are committed, but a required sync failed.
    var unsynchronized: (number: Int, error: CacheError)?

    /// Whether exclusive use is claimed for the next write (``ExclusiveUse``).
    var isClaimed = false
    /// The segment of the last conditional write.
    var lastConditional = 0
    /// Whether a conditional write may be uncommitted.
    var hasConditional = false

    var writes = WriteCounts()
    var stamps: StampClock
    var hidden = HiddenKeys()
    /// Why and when (monotonic) the latest write could not be recorded.
    var unrecorded: (error: CacheError, time: Int64)?
    /// Why a write since the last flush is only in memory.
    var unflushable: CacheError?
    var gate = JournalGate.open

    /// The last segment number at the last round, and the count of consecutive idle rounds.
    var lookedAt = 0
    var idleLooks = 0
    /// Whether the file system cannot punch holes.
    var keepsBlocks = false
  }

  /// - Parameter makeFile: Creates the journal's file, at the first write.
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

  /// Bytes of uncommitted writes and of the file, and whether writes are being recorded and committed.
  var fill: (used: Int, size: Int, isHealthy: Bool) {
    lock.withLock {
      let waiting = state.sealed + [state.active].compactMap(\.self)
      let used = waiting.reduce(0) { $0.addingClamped($1.used - JournalSegment.headerSize) }
      let size = max(0, (state.file?.map.size ?? 0) - JournalFile.headerSize)
      return (used, size, state.gate.failure == nil && unrecorded == nil)
    }
  }

  /// Identifies the journal's file in the database.
  var identifier: UInt64? { lock.withLock { state.file?.identifier } }

  // MARK: The file. With the lock held

  /// Creates the file before the first write.
  ///
  /// - Throws: The error of `makeFile`, repeated for a while without a new attempt.
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

  /// Continues in a new file after the old one was deleted, because recovery cannot find it. Pending writes in the old
  /// one are committed at once.
  func renewFile() throws(CacheError) {
    let file = try makeFile()
    if let active = state.active {
      if active.isEmpty {
        // The new segment takes its number, because everything before the active segment will be committed.
        state.lastNumber -= 1
      } else {
        state.sealed.append(active)
        state.requestedNumber = max(state.requestedNumber, active.number)
      }
    }
    state.active = nil
    // A new journal: its first frame has no predecessor.
    state.previousStamp = 0
    adopt(file)
    // Other processes wait here for conditional writes in the old one.
    if state.hasConditional { _ = state.file?.exclusiveUse.claim() }
  }

  /// Ends the journal; returns its file, if any. The segments are freed before their map.
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

  /// Hands the active segment to the writer thread. There must be a spare one.
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

  /// Sends readers to the lock. Must precede the announcement of a write to the memory tiers: a reader that takes its
  /// token after the announcement must not find the older value in the database.
  func markPending() { hasPending.store(true, ordering: .releasing) }

  /// Hides values on disk for which a newer write could not be applied.
  func hide(_ keys: HiddenKeys) {
    if keys.isEmpty { return }
    state.hidden.formUnion(keys)
    for (tag, stamp) in keys.tags { tagRemovals.note(tag, stamp: stamp) }
    markPending()
  }
}

// The blocks of the journal's file. On a full disk, a store without a block raises SIGBUS, so a segment reserves blocks
// before it grows; idle segments give them back.

extension Journal {
  private static let leastIdleLooks = 2

  /// Writer thread, about once a second.
  func makeRound() {
    let isIdle = lock.withLock {
      let isIdle = state.lookedAt == state.lastNumber && !hasPending.load(ordering: .relaxed)
      state.lookedAt = state.lastNumber
      state.idleLooks = isIdle ? state.idleLooks + 1 : 0
      return state.idleLooks == Self.leastIdleLooks
    }
    if isIdle { giveBlocksBack() }
  }

  /// Returns spare segments' blocks to the disk, except at their start; the active segment keeps its blocks. Only the
  /// writer thread commits, so nothing is sealed while no spare segment exists.
  func giveBlocksBack() {
    let segments = lock.withLock {
      if state.keepsBlocks { return [] as [JournalSegment] }
      state.givingBack = state.spare.filter(\.hasBlocksToGiveBack)
      state.spare.removeAll(where: \.hasBlocksToGiveBack)
      return state.givingBack
    }
    if segments.isEmpty { return }
    var keepsBlocks = false
    for segment in segments where !keepsBlocks {
      // A failure only costs space.
      do throws(SystemError) { try segment.giveBlocksBack() } catch { keepsBlocks = error.errno == EOPNOTSUPP }
    }
    lock.withLock {
      state.givingBack = []
      state.spare += segments
      state.keepsBlocks = keepsBlocks
      lock.signalAll(.progress)
    }
  }

  /// Reserves blocks for `size` more bytes of a segment. Requires the lock.
  func hasBlocks(_ segment: JournalSegment, for size: Int) -> Bool {
    // On a full disk, writes continue in the next segment; larger ones are committed at once.
    do throws(SystemError) { return try segment.reserve(size) } catch { return false }
  }
}

// Conditional writes (``ExclusiveUse``). All of it requires the lock.

extension Journal {
  /// Whether another process has, or may have, the cache open.
  var isShared: Bool { state.file?.exclusiveUse.isRevoked ?? true }

  /// Returns whether the process may append a write whose condition holds; it must do so next.
  func claimExclusiveUse() -> Bool {
    guard let use = state.file?.exclusiveUse else { return false }
    state.isClaimed = use.claim()
    if !state.isClaimed { settleExclusiveUse() }
    return state.isClaimed
  }

  /// Notes an appended write for which exclusive use was claimed; `segment` is `nil` if it could not be recorded.
  func noteIfConditional(_ segment: JournalSegment?) {
    if !state.isClaimed { return }
    state.isClaimed = false
    state.lastConditional = max(state.lastConditional, segment?.number ?? state.committedNumber)
    state.hasConditional = true
  }

  /// Withdraws a claim for which nothing was appended.
  func endClaim() {
    if !state.isClaimed { return }
    state.isClaimed = false
    settleExclusiveUse()
  }

  /// Lets other processes continue once every conditional write is committed.
  func settleExclusiveUse() {
    if state.hasConditional {
      guard state.lastConditional <= state.committedNumber, state.hidden.isEmpty else { return }
      state.hasConditional = false
    }
    state.file?.exclusiveUse.settle()
  }

  /// Requires the opening lock, and no other process.
  func restoreExclusiveUse() { state.file?.exclusiveUse.restore() }
}

/// Whether a process may make conditional writes through its journal, because no other process has the cache open: two
/// words in the journal's header.
///
/// A conditional write must see every other write. The journal's lock ensures that for a lone process; otherwise such
/// writes are database transactions, which LMDB serializes.
///
/// - *Revoked*: another process has, or had, the cache open. Each process that opens it sets the word in every journal;
///   the owner clears it when alone. Both hold the opening lock.
/// - *Unsettled*: the journal has uncommitted conditional writes. A process that has revoked waits for them before its
///   own first conditional write.
///
/// Each side sets its word before it reads the other's, so at least one of them notices (Dekker's algorithm).
struct ExclusiveUse {
  static let revokedOffset = 64
  static let unsettledOffset = 128
  /// The words as files hold them, in native byte order like the journal.
  static let setWord = withUnsafeBytes(of: UInt32(1)) { Array($0) }
  static let clearWord = [UInt8](repeating: 0, count: 4)

  private let revoked: UnsafeMutablePointer<Atomic<UInt32>>
  private let unsettled: UnsafeMutablePointer<Atomic<UInt32>>

  init(journal: UnsafeMutableRawPointer) {
    revoked = (journal + Self.revokedOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
    unsettled = (journal + Self.unsettledOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  var isRevoked: Bool { revoked.pointee.load(ordering: .sequentiallyConsistent) != 0 }

  func revoke() { revoked.pointee.store(1, ordering: .sequentiallyConsistent) }

  /// Requires the opening lock, and no other process.
  func restore() { revoked.pointee.store(0, ordering: .sequentiallyConsistent) }

  /// Announces a conditional write. Returns whether it may be made; if not, and no other is pending, call ``settle()``.
  func claim() -> Bool {
    unsettled.pointee.store(1, ordering: .sequentiallyConsistent)
    return !isRevoked
  }

  func settle() { unsettled.pointee.store(0, ordering: .sequentiallyConsistent) }
}

/// Whether the journal accepts writes, as decided by ``WriterMachine``.
enum JournalGate {
  case open
  /// Commits fail. Writes are accepted while there is room.
  case failing(CommitFailure)
  /// No more writes are accepted; pending ones are being committed.
  case closing(CommitFailure?)
  case ended(CommitFailure?)

  var failure: CommitFailure? {
    switch self {
    case .open: nil
    case .failing(let failure): failure
    case .closing(let failure), .ended(let failure): failure
    }
  }

  @inline(__always)
  var isClosed: Bool {
    switch self {
    case .open, .failing: false
    case .closing, .ended: true
    }
  }

  var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// The state of the journal that the writer's decisions depend on.
struct JournalSituation: Equatable {
  struct Active: Equatable {
    var isEmpty = true
    var isQuarterFull = false
    var isRequested = false
    var firstAppend: Int64 = 0
  }

  var hasSealed = false
  /// Whether the active segment, if any, can be sealed, which takes a spare one.
  var canSeal = true
  /// Whether values on disk must be removed because their keys are hidden.
  var hidesKeys = false
  var active: Active?
  var hasJobs = false

  var isPending: Bool { hasSealed || hidesKeys || active.map { !$0.isEmpty } ?? false }

  var canCommit: Bool { hasSealed || canSeal }
}

/// This process's writes, counted under the journal's lock.
struct WriteCounts {
  var sets = 0
  /// Each operation counts once, however many entries it removes.
  var removals = 0

  func add(to statistics: inout CacheStatistics) {
    statistics.sets += sets
    statistics.removals += removals
  }
}

/// A journal's locked file and its map, kept alive by its segments. Store only where the file has blocks: on a full
/// disk, a store elsewhere raises SIGBUS.
final class JournalMemory: Sendable {
  private let lock: FileLock
  let map: MemoryMap

  init(_ lock: consuming FileLock, _ map: MemoryMap) {
    self.lock = lock
    self.map = map
  }

  /// Allocates blocks for a part of the file.
  func reserve(_ part: Range<Int>) throws(SystemError) { try lock.file.preallocate(part) }

  func giveBack(_ part: Range<Int>) throws(SystemError) {
    try lock.file.punchHole(at: part.lowerBound, size: part.count)
  }
}
