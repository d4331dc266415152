import Foundation
import LMDB
import Platform
import Synchronization

/// A write that depends on the entry in its place, from its first read of the entry to its end. One thread makes it.
// Sendable: `tags` has a lock, since other threads ask a holder for them; `isChanged`, `removedTags`, `isRegistered` and
// `isOverdue` are touched with the journal's lock held only; the others by the thread that makes the write.
final class ConditionalWrite: @unchecked Sendable {
  /// The innermost write whose closure runs in this thread or task, or ran where this task was started.
  @TaskLocal fileprivate static var running: ConditionalWrite?

  let key: String
  let hash: UInt64
  fileprivate let thread = PlatformThread.current
  fileprivate let store: ObjectIdentifier
  /// The next one around it that still runs; a task may outlive the closure that started it.
  fileprivate let outer: ConditionalWrite? = {
    guard ConditionalWrites.isAnyRunning else { return nil }
    var next = ConditionalWrite.running
    while let write = next, !write.isRunning.load(ordering: .acquiring) { next = write.outer }
    return next
  }()
  fileprivate let isRunning = Atomic<Bool>(false)

  /// The tags of the entry that was read: `.some(nil)` for none, `nil` where they are not known.
  var tags: EntryTags?? {
    get { readTags.withLock { $0 } }
    set { readTags.withLock { $0 = newValue } }
  }
  private let readTags = Mutex<EntryTags??>(nil)
  fileprivate var conflicts = 0
  /// Conflicts although the key was held.
  fileprivate var heldConflicts = 0

  /// Whether this process changed the entry since the write last looked.
  fileprivate var isChanged = false
  fileprivate var removedTags: [UInt64] = []
  fileprivate var isRegistered = false
  /// Whether a thread has waited for the key as long as threads wait.
  fileprivate var isOverdue = false

  fileprivate init(_ key: CacheKey, of store: ConditionalWrites) {
    self.key = key.string
    hash = key.hash
    self.store = ObjectIdentifier(store)
  }

  fileprivate func isTagged(_ tag: UInt64) -> Bool {
    guard let tags else { return true }
    return tags?.hashes.contains(tag) ?? false
  }
}

/// The conditional writes under way in this process.
///
/// A change of the same key is a conflict, and nothing else is. After a few conflicts the write *holds* the key: other
/// threads wait before they change it, and other processes before they commit, so that the next attempt succeeds. A
/// closure that changes its own key would wait for itself, which is an error. A wait ends after five times
/// ``CacheConfiguration/Disk/lockTimeout``, and at once where threads would wait in a circle: the write is made then,
/// and the holder tries again.
// Sendable: the variables are touched with the journal's lock held only.
final class ConditionalWrites: @unchecked Sendable {
  /// Conflicts after which a key is held.
  private static let toleratedConflicts = 3

  private let lock: ConditionLock
  /// How long a thread waits for a key, in nanoseconds.
  private let longestWait: Int64
  @exclusivity(unchecked) private var underWay: [ConditionalWrite] = []
  private var holders: [ConditionalWrite] = []
  /// The one that keeps other processes from committing, and since when.
  private var fileHolder: (write: ConditionalWrite, since: Int64)?
  /// The holder that each waiting thread waits for.
  private var waiting: [UInt: ConditionalWrite] = [:]
  /// How many closures run and keys are held: other writes need not look while it is 0.
  private let guardCount = Atomic<Int>(0)
  private let holderCount = Atomic<Int>(0)
  /// How many closures run in this process, for any cache.
  private static let runningCount = Atomic<Int>(0)
  fileprivate static var isAnyRunning: Bool { runningCount.load(ordering: .relaxed) != 0 }

  init(_ lock: ConditionLock, lockTimeout: Duration) {
    self.lock = lock
    longestWait = (lockTimeout * 5).clampedNanoseconds
  }

  // MARK: Changes. With the lock held

  @inline(__always)
  func note(_ hash: UInt64) {
    if unsafe !underWay.isEmpty { noteChange(hash) }
  }

  @inline(never)
  private func noteChange(_ hash: UInt64) {
    for write in unsafe underWay where write.hash == hash { write.isChanged = true }
  }

  func note(_ scope: KeyScope) {
    for write in unsafe underWay {
      if case .tag(let tag) = scope, !write.removedTags.contains(tag) { write.removedTags.append(tag) }
      if scope.includes(write.key) { write.isChanged = true }
    }
  }

  /// Notes changes from now on, since the write reads its entry next.
  func register(_ write: ConditionalWrite) {
    write.isChanged = false
    write.removedTags = []
    if write.isRegistered { return }
    write.isRegistered = true
    unsafe underWay.append(write)
  }

  func isUnchanged(_ write: ConditionalWrite) -> Bool {
    !write.isChanged && !write.removedTags.contains(where: write.isTagged)
  }

  // MARK: Writes

  func begin(_ key: CacheKey) -> ConditionalWrite { ConditionalWrite(key, of: self) }

  func end(_ write: ConditionalWrite, _ environment: Environment) {
    // Only the write's own thread registers it and makes it hold.
    if !write.isRegistered, write.conflicts < Self.toleratedConflicts { return }
    let keepsFile = lock.withLock {
      if write.isRegistered, let index = unsafe underWay.lastIndex(where: { $0 === write }) {
        unsafe underWay.remove(at: index)
      }
      if let index = holders.firstIndex(where: { $0 === write }) {
        holders.remove(at: index)
        holderCount.subtract(1, ordering: .relaxed)
        guardCount.subtract(1, ordering: .relaxed)
        lock.signalAll(.progress)
      }
      return fileHolder?.write === write
    }
    guard keepsFile else { return }
    environment.releaseWriterLock(for: write)
    lock.withLock {
      fileHolder = nil
      lock.signalAll(.progress)
    }
  }

  /// Runs the closure of a write.
  func run(_ write: ConditionalWrite, _ closure: () -> Void) {
    guardCount.add(1, ordering: .relaxed)
    Self.runningCount.add(1, ordering: .relaxed)
    write.isRunning.store(true, ordering: .releasing)
    ConditionalWrite.$running.withValue(write, operation: closure)
    write.isRunning.store(false, ordering: .releasing)
    Self.runningCount.subtract(1, ordering: .relaxed)
    guardCount.subtract(1, ordering: .relaxed)
  }

  /// Whether ``admit(_:)`` has to be called before a write.
  @inline(__always)
  var isGuarded: Bool { guardCount.load(ordering: .relaxed) != 0 }

  /// Waits while another thread holds a key that is about to be written.
  ///
  /// - Throws: `.recursiveUpdate` in the closure of a conditional write of that key.
  @inline(never)
  func admit(_ scope: KeyScope) throws(CacheError) {
    func covers(_ write: ConditionalWrite) -> Bool {
      if case .tag(let tag) = scope { write.isTagged(tag) } else { scope.includes(write.key) }
    }
    var next = ConditionalWrite.running
    while let write = next {
      if write.store == ObjectIdentifier(self), write.isRunning.load(ordering: .acquiring), covers(write) {
        throw CacheError(
          .recursiveUpdate,
          "The closure that changes the value under \(quoted(write.key)) writes or removes that entry itself. Leave the new "
            + "value, or nil, in the closure's argument.")
      }
      next = write.outer
    }
    if holderCount.load(ordering: .relaxed) == 0 { return }
    lock.withLock { _ = wait { holders.first(where: covers) } }
  }

  // MARK: Holding

  /// Notes a conflict; after a few of them holds the key.
  ///
  /// - Parameter isShared: Whether other processes have the cache open.
  /// - Throws: `.recursiveUpdate`, `.lockTimeout`.
  func noteConflict(of write: ConditionalWrite, isShared: Bool, _ environment: Environment) throws(CacheError) {
    write.conflicts += 1
    if write.conflicts < Self.toleratedConflicts { return }
    let isOverdue = lock.withLock {
      if holders.contains(where: { $0 === write }) { write.heldConflicts += 1 }
      return write.isOverdue || write.heldConflicts > Self.toleratedConflicts
    }
    if isOverdue {
      throw CacheError(
        .recursiveUpdate,
        "The value under \(quoted(write.key)) was not changed: it was written while the key was held, since the closure that "
          + "changes it, or the value's own code, writes it through another thread, waits for a thread that does, or takes "
          + "longer than \(Duration.nanoseconds(longestWait)).")
    }
    if isShared { try holdFile(write, environment) }
    lock.withLock {
      if holders.contains(where: { $0 === write }) || !wait({ holders.first { $0.hash == write.hash } }) { return }
      holders.append(write)
      holderCount.add(1, ordering: .relaxed)
      guardCount.add(1, ordering: .relaxed)
    }
  }

  private func holdFile(_ write: ConditionalWrite, _ environment: Environment) throws(CacheError) {
    let isNew = lock.withLock {
      guard wait({ fileHolder?.write }), fileHolder == nil else { return false }
      fileHolder = (write, MonotonicClock.nanoseconds)
      return true
    }
    guard isNew else { return }
    do throws(LMDBError) {
      try environment.keepWriterLock(for: write)
    } catch {
      throw CacheError(error, during: "Changing \(quoted(write.key))")
    }
  }

  /// Lets other processes commit if they were kept from it for too long. On the writer thread.
  func makeRound(_ environment: Environment) {
    let overdue = lock.withLock { () -> ConditionalWrite? in
      guard let (write, since) = fileHolder, MonotonicClock.nanoseconds - since > longestWait else { return nil }
      write.isOverdue = true
      return write
    }
    if let overdue { environment.releaseWriterLock(for: overdue) }
  }

  /// Waits while a write of another thread is in the way. With the lock held. Returns `false` if it still is, for too
  /// long or since it waits for this thread.
  private func wait(_ obstacle: () -> ConditionalWrite?) -> Bool {
    let thread = PlatformThread.current
    var (last, deadline): (ConditionalWrite?, Int64) = (nil, 0)
    while let write = obstacle(), write.thread != thread {
      if isCircle(from: write, to: thread) { return false }
      let now = MonotonicClock.nanoseconds
      if write !== last { (last, deadline) = (write, now + longestWait) }
      if now >= deadline {
        write.isOverdue = true
        return false
      }
      waiting[thread] = write
      _ = lock.wait(for: .progress, nanoseconds: deadline - now)
      waiting[thread] = nil
    }
    return true
  }

  private func isCircle(from write: ConditionalWrite, to thread: UInt) -> Bool {
    var next = waiting[write.thread]
    while let write = next {
      if write.thread == thread { return true }
      next = waiting[write.thread]
    }
    return false
  }
}

/// The condition under which a write is made.
enum EntryCondition {
  /// This process is the only one, and the entry has not changed since the write read it.
  case unchanged(ConditionalWrite, position: UInt64)
  /// The entry has this stamp; 0: it is absent or has expired.
  case stamp(UInt64)

  /// Whether the write needs a transaction. A lone process appends a frame to the journal instead.
  var isOfTransaction: Bool { if case .stamp = self { true } else { false } }
}

/// A value being written: transformed and appended to the value log once, however often the write is retried.
final class ValueDraft {
  let payload: ByteView
  let transforms: ValueTransforms
  /// The transforms' result, and the entry that encryption binds it to.
  private var transformed: (bytes: Data?, header: RecordHeader, tags: [UInt64])?
  var appended: AppendedValue?

  init(_ payload: ByteView, _ transforms: ValueTransforms) {
    self.payload = payload
    self.transforms = transforms
  }

  deinit { appended?.end() }

  /// Returns the transforms' result for an entry, or `nil` if they leave the value as it is.
  func transformed(
    for header: RecordHeader, _ transform: () throws(CacheError) -> Data?
  ) throws(CacheError) -> Data? {
    let tags = header.tags.map(Array.init) ?? []
    if let (bytes, known, knownTags) = transformed, known.expires == header.expires, known.created == header.created,
      knownTags == tags
    {
      return bytes
    }
    let bytes = try transform()
    transformed = (bytes, header, tags)
    appended?.end()
    appended = nil
    return bytes
  }
}

struct WriteOutcome {
  let stamp: UInt64
  /// The newest position at which the write is known to be current (``TransactionTracker``).
  var validated: UInt64 = 0
  /// The error of the required commit.
  var failure: CacheError?
  /// Whether the condition failed, so that nothing was written.
  var isRefused = false

  /// Call after the memory tiers have the write: it is visible even if its commit failed.
  func checkCommitted() throws(CacheError) {
    if let failure { throw failure }
  }
}
