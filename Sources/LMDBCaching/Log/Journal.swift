import Platform
import Synchronization

/// The uncommitted writes of this process: appended here, and found here by readers.
///
/// Owns the segments and their numbers, and the stamps. Apart from creating its file and managing its blocks, it does
/// I/O only through the file's map.
///
/// A segment is *spare*, then *active* while writes are appended, then *sealed* until the writer thread has committed
/// it, then spare again. Segments are numbered as they become active, so "everything up to number n is committed" is
/// all that a waiting write needs.
///
/// While the file cannot be made or cannot grow (on a full disk, for example), up to ``maximumInMemory`` segments of
/// anonymous memory take the writes. They are committed like the others, but do not survive the process.
///
/// Threads: any. ``lock`` guards everything, and the writer thread sleeps on it. Sealed segments are immutable, and so
/// are read without the lock while they are committed.
// Sendable: `state` is accessed only under `lock`; sealed segments are immutable; the rest is atomic or constant.
final class Journal: @unchecked Sendable {
  let lock: ConditionLock
  let clock: CacheClock
  /// Whether writes are uncommitted. Readers skip the lock if not.
  let hasPending = Atomic<Bool>(false)
  /// Whether the first file was made, or could not be.
  let hasBegun = Atomic<Bool>(false)
  /// The position of the transaction that commits segments up to ``State/committingNumber``, or 0.
  let committingPosition = Atomic<UInt64>(0)
  /// The committing thread, which cannot wait for itself; 0 before it runs.
  let writerThread = Atomic<UInt>(0)

  let tagRemovals = TagRemovals()

  /// Called with the lock held when the file cannot take writes. Set once, before the first write.
  var reportFailure: (CacheError) -> Void = { _ in }

  /// Makes a file with this identifier.
  private let makeFile: @Sendable (UInt64) throws(CacheError) -> JournalFile

  /// Segments of anonymous memory that may be uncommitted. Removals of many entries may take as many more.
  static let maximumInMemory = 4
  static let memorySegmentSize = 1 << 20
  private static let reportInterval: Int64 = 60_000_000_000

  // Behind a pointer: a class property's run-time exclusivity check costs as much as the lock.
  private let stateMemory: MemoryReference<State>
  var state: State {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(stateMemory.pointer) }
    @inline(__always) unsafeMutableAddress { unsafe stateMemory.pointer }
  }

  struct State: ~Copyable {
    /// The identifier of the file, or of the next one.
    var identifier = UInt64.random(in: .min ... .max)
    var file: JournalFile?
    /// Why writes are in anonymous memory, or were until the next commit.
    var fileFailure: CacheError?
    /// The monotonic time of the next report.
    var nextReport = Int64.min
    var active: JournalSegment?
    var spare: [JournalSegment] = []
    var sealed: [JournalSegment] = []
    /// The writes of dead processes that could not be committed when the cache was opened (``PeerRecovery``).
    var unreplayed: JournalSegment?
    /// The stamp of the last write in `unreplayed`.
    var unreplayedStamp: UInt64 = 0
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
    makeFile: @escaping @Sendable (UInt64) throws(CacheError) -> JournalFile
  ) {
    self.lock = lock
    self.clock = clock
    self.makeFile = makeFile
    stateMemory = .allocated(State(stamps: stamps))
  }

  deinit {
    unsafe stateMemory.free()
  }

  var writes: WriteCounts { lock.withLock { state.writes } }

  /// Bytes of uncommitted writes and of the file, and whether writes are being recorded and committed.
  var fill: (used: Int, size: Int, isHealthy: Bool) {
    lock.withLock {
      let used = uncommitted.reduce(0) { $0.addingClamped($1.used - JournalSegment.headerSize) }
      let size = max(0, (state.file?.map.size ?? 0) - JournalFile.headerSize)
      return (used, size, failure == nil)
    }
  }

  /// Why writes are not being committed, or do not survive the process. Requires the lock.
  var failure: CacheError? { state.gate.failure?.error ?? state.fileFailure }

  /// Identifies the journal in the database, whether or not it has a file.
  var identifier: UInt64 { lock.withLock { state.identifier } }

  /// The sealed and active segments, oldest first. Requires the lock.
  var uncommitted: [JournalSegment] { state.sealed + [state.active].compactMap(\.self) }

  // MARK: The file. With the lock held

  /// Creates the file before the first write. If that fails, writes go to memory, and ``retryFile()`` tries again.
  func makeFileIfNeeded() {
    if state.file == nil && state.fileFailure == nil { adoptFile() }
  }

  private func adoptFile() {
    hasBegun.store(true, ordering: .releasing)
    do throws(CacheError) {
      let file = try makeFile(state.identifier)
      if uncommitted.allSatisfy(\.isEmpty) || state.identifier != file.identifier { state.previousStamp = 0 }
      state.identifier = file.identifier
      state.spare = file.makeSegments()
      state.file = consume file
      // Other processes wait here for conditional writes in a deleted journal.
      if state.hasConditional { _ = state.file?.exclusiveUse.claim() }
      sealActive(state.spare.popLast())
    } catch {
      noteFileFailure(error)
    }
  }

  /// Returns to the file, after a commit and about once a second.
  func retryFile() {
    if state.fileFailure == nil { return }
    if state.file == nil { adoptFile() }
    if state.file != nil, uncommitted.allSatisfy({ $0.isMapped || $0.isEmpty }) { state.fileFailure = nil }
  }

  /// Continues in memory because the disk cannot take a write.
  func noteFileFailure(_ error: CacheError) {
    state.fileFailure = error
    if clock.monotonic < state.nextReport { return }
    state.nextReport = clock.monotonic.addingClamped(Self.reportInterval)
    reportFailure(error)
  }

  /// Continues in a new file after the old one was deleted, because recovery cannot find it. Pending writes in the old
  /// one are committed at once.
  func renewFile() {
    requestCommit()
    sealActive(nil)
    state.spare = []
    state.file = nil
    state.identifier = .random(in: .min ... .max)
    // A new journal: its first frame has no predecessor.
    state.previousStamp = 0
    adoptFile()
  }

  /// Ends the journal; returns its file, if any. The segments are freed before their map.
  func end() -> (identifier: UInt64, identity: FileIdentity)? {
    lock.withLock {
      state.active = nil
      state.spare = []
      state.sealed = []
      state.unreplayed = nil
      state.givingBack = []
      let location = state.file?.location
      state.file = nil
      return location
    }
  }

  // MARK: Segments. With the lock held

  /// Hands the active segment to the writer thread, and continues in `next`; if it is `nil`, the next write finds one.
  func sealActive(_ next: JournalSegment?) {
    if let active = state.active {
      state.sealed.append(active)
      if !active.isEmpty { state.previousStamp = active.lastStamp }
    }
    state.active = next
    guard let next else { return }
    next.follow(state.previousStamp)
    state.lastNumber += 1
    next.number = state.lastNumber
  }

  /// Sends readers to the lock. Must precede the announcement of a write to the memory tiers: a reader that takes its
  /// token after the announcement must not find the older value in the database.
  func markPending() { hasPending.store(true, ordering: .releasing) }
}

// The blocks of the journal's file. On a full disk, a store without a block raises SIGBUS, so a segment reserves blocks
// before it grows; idle segments give them back.

extension Journal {
  private static let leastIdleLooks = 2

  /// Writer thread, about once a second.
  func makeRound() {
    let isIdle = lock.withLock {
      retryFile()
      let isIdle = state.lookedAt == state.lastNumber && !hasPending.load(ordering: .relaxed)
      state.lookedAt = state.lastNumber
      state.idleLooks = isIdle ? state.idleLooks + 1 : 0
      return state.idleLooks == Self.leastIdleLooks
    }
    if isIdle { giveBlocksBack() }
  }

  /// Returns spare segments' blocks to the disk, except at their start; the active segment keeps its blocks.
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

  /// Whether a segment has room for `size` more bytes, and blocks for them. Requires the lock.
  func hasRoom(_ segment: JournalSegment, for size: Int) -> Bool {
    if segment.free >= size { return true }
    do throws(SystemError) { return try segment.reserve(size) } catch {
      noteFileFailure(CacheError(error, during: "Growing the journal"))
      return false
    }
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

  /// Notes an appended write for which exclusive use was claimed.
  func noteIfConditional(_ segment: JournalSegment) {
    if !state.isClaimed { return }
    state.isClaimed = false
    state.lastConditional = max(state.lastConditional, segment.number)
    state.hasConditional = true
  }

  /// Lets other processes continue once every conditional write is committed.
  func settleExclusiveUse() {
    if state.hasConditional {
      guard state.lastConditional <= state.committedNumber else { return }
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
  /// The words as files hold them, in native byte order, unlike the rest of the journal.
  static let setWord = UInt32(1).bytes
  static let clearWord = [UInt8](repeating: 0, count: 4)

  private let revoked: MemoryReference<Atomic<UInt32>>
  private let unsettled: MemoryReference<Atomic<UInt32>>

  init(journal: MutableByteView) {
    revoked = journal.atomic(at: Self.revokedOffset)
    unsettled = journal.atomic(at: Self.unsettledOffset)
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

  /// Whether sealed segments, or dead processes' writes, must be committed.
  var hasSealed = false
  var active: Active?
  var hasJobs = false

  var isPending: Bool { hasSealed || active.map { !$0.isEmpty } ?? false }
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
