import Dispatch
import Platform
import Synchronization

/// Writes values that are too long for the database, once, to the end of a segment. The record, in the journal and then
/// the database, holds a ``ValuePointer``. (Bitcask, WiscKey and RocksDB's BlobDB use this design.)
///
/// A segment is *active* while values are appended, then *retired* until all their records are committed, then unowned:
/// any process removes it when it is unreferenced, and moves its values elsewhere when it is sparse
/// (``ValueLogKeeper``). A new process continues a short, unowned segment. Threads: any.
final class ValueLog: Sendable {
  /// Values over this share of a segment get a separate one, which keeps the steps that move values short.
  private static let sharesOfSegment = 4
  /// Bounds of the blocks reserved at once, half of the segment's size in between: a file that grows with every write
  /// is slower. A reservation takes 15 to 50 µs of the caller's time, whatever its size.
  private static let (leastStep, greatestStep) = (256 << 10, 4 << 20)
  /// Early writing to the device starts whole parts of this size.
  private static let earlyPart = 1 << 20
  /// Starting a write takes half as long as writing to the page cache.
  private static let earlyWriting = DispatchQueue(label: "LMDB writing")
  /// The error of appends after ``close()``.
  static let errnoOfClosed = ESHUTDOWN
  /// The number of unowned segments to examine for one to continue.
  private static let maximumLooks = 64

  private let current: CurrentDirectory
  private let isSynchronized: Bool
  private let segmentSize: Int
  private let state = Mutex(State())
  /// Held during a sync, so that a second caller waits for it.
  private let synchronizing = Mutex(())

  private struct State {
    var active: GrowingSegment?
    var retired: [GrowingSegment] = []
    var hasLookedForOthers = false
    /// The journal that replaced the first one, whose identifier a caller may still have; or 0.
    var renewedOwner: UInt64 = 0
    var isClosed = false
    var hasNewNames = false
    /// Whether a segment was released before it was synchronized.
    var hasUnsynchronizedSegments = false

    var held: [GrowingSegment] { retired + [active].compactMap(\.self) }
  }

  /// - Parameter segmentSize: The size of a segment without an oversized value.
  init(_ current: CurrentDirectory, durability: Durability, segmentSize: Int) {
    self.current = current
    self.segmentSize = segmentSize
    isSynchronized = durability != .fast
  }

  private var folder: ValueFolder { ValueFolder(cache: current.value) }

  /// The size at which a group gets a separate segment, and so must be appended before.
  var groupLimit: Int { segmentSize / Self.sharesOfSegment }

  // MARK: Appending

  /// Appends a value; returns when it survives a process crash. Its segment stays until ``AppendedValue/end()``.
  ///
  /// - Parameters:
  ///   - key: The record's LMDB key.
  ///   - owner: The record's journal.
  ///   - isAwaited: Whether a caller waits for the sync, so that writing to disk starts at once.
  func append(
    _ value: ByteView, key: ByteView, owner: UInt64, isAwaited: Bool = false
  ) throws(SystemError) -> AppendedValue {
    let hash = RecordHeader.payloadHash(value)
    let place = try begin(ValueEntry.size(keyLength: key.count, length: value.count), count: 1, owner)
    let segment = place.segment
    let entry = ValueEntry(offset: place.offset, keyLength: key.count, length: value.count, hash: hash)
    do throws(SystemError) {
      try withStackBytes(ValueEntry.greatestHead) { (head) throws(SystemError) in
        entry.writeHead(to: head, key: key, segment: segment.identifier)
        let head = ByteView(head[..<ValueEntry.headLength(key.count)])
        try unsafe segment.lock.file.write(head.buffer, value.buffer, at: place.offset)
      }
    } catch {
      giveBack(place)
      throw error
    }
    end(place, isAwaited)
    return AppendedValue(entry.pointer(segment.identifier), in: segment)
  }

  /// Appends and empties a group; see ``append(_:key:owner:isAwaited:)``.
  func append(_ group: inout ValueGroup, owner: UInt64, isAwaited: Bool) throws(SystemError) -> [AppendedValue] {
    let place = try begin(group.size, count: group.count, owner)
    let segment = place.segment
    let (bytes, pointers) = group.seal(at: place.offset, in: segment.identifier)
    do throws(SystemError) {
      try unsafe segment.lock.file.write(bytes.buffer, at: place.offset)
    } catch {
      giveBack(place)
      throw error
    }
    group.removeAll()
    end(place, isAwaited)
    return pointers.map { AppendedValue($0, in: segment) }
  }

  private struct Place {
    let segment: GrowingSegment
    let offset: Int
    let size: Int
    /// The number of values.
    let count: Int
  }

  private func begin(_ size: Int, count: Int, _ owner: UInt64) throws(SystemError) -> Place {
    try state.withLock { (state) throws(SystemError) in
      let (segment, offset) = try reserve(size, owner, &state)
      segment.holds.count.add(count, ordering: .relaxed)
      segment.writers.add(1, ordering: .relaxed)
      return Place(segment: segment, offset: offset, size: size, count: count)
    }
  }

  private func end(_ place: Place, _ isAwaited: Bool) {
    let segment = place.segment
    segment.isDirty.store(true, ordering: .releasing)
    segment.writers.subtract(1, ordering: .releasing)
    // Keeps the device busy while the caller continues. The page in which the next value begins would be written twice.
    guard isAwaited, isSynchronized else { return }
    let start = place.offset / Self.earlyPart * Self.earlyPart
    let end = (place.offset + place.size) / Self.earlyPart * Self.earlyPart
    if start < end { Self.earlyWriting.async { segment.lock.file.startWriting(start..<end) } }
  }

  /// Releases the place of a value that could not be written. If others may follow it, it remains as a hole.
  private func giveBack(_ place: Place) {
    let segment = place.segment
    segment.writers.subtract(1, ordering: .releasing)
    state.withLock { _ in
      if segment.tail == place.offset + place.size {
        segment.tail = place.offset
        // A partial value may be what fills the disk.
        finish(segment)
      }
      segment.holds.count.subtract(place.count, ordering: .releasing)
    }
  }

  /// Reserves a place in a segment. Requires the lock.
  private func reserve(
    _ size: Int, _ owner: UInt64, _ state: inout State
  ) throws(SystemError) -> (GrowingSegment, offset: Int) {
    if state.isClosed { throw SystemError("append", current.value.path, errno: Self.errnoOfClosed) }
    let owner = owner == 0 || state.renewedOwner == 0 ? owner : state.renewedOwner
    let segment: GrowingSegment
    let isAlone = size > segmentSize / Self.sharesOfSegment
    if isAlone {
      segment = try make(owner, &state)
      state.retired.append(segment)
    } else if let active = state.active, active.tail + size <= segmentSize {
      segment = active
      if owner != 0, segment.owner != owner {
        // It was created to move values, before the first write.
        try ValueSegment.writeOwner(owner, segment.lock.file)
        segment.owner = owner
      }
    } else {
      // An error in another process's segment must not fail this value.
      if case .success(let adopted?) = outcome({ () throws(SystemError) in try adopt(owner, &state) }) {
        segment = adopted
      } else {
        segment = try make(owner, &state)
      }
      if let active = state.active { state.retired.append(active) }
      state.active = segment
    }
    let offset = segment.tail
    do throws(SystemError) {
      let step = isAlone ? 0 : min(Self.greatestStep, max(Self.leastStep, offset / 2))
      try allocate(segment, upTo: offset + size, step: step)
    } catch {
      if segment.tail == ValueSegment.headerSize {
        // Nothing was written, and nothing refers to it.
        state.retired.removeAll { $0 === segment }
        if state.active === segment { state.active = nil }
        do throws(SystemError) { try folder.remove(segment.identifier) } catch {}
      }
      throw error
    }
    segment.tail += size
    return (segment, offset)
  }

  private func allocate(_ segment: GrowingSegment, upTo end: Int, step: Int) throws(SystemError) {
    if end <= segment.allocated { return }
    let ahead = max(end, min(segment.allocated + step, segmentSize))
    do throws(SystemError) {
      try segment.lock.file.reserve(ahead)
      segment.allocated = ahead
    } catch {
      guard ahead > end, [ENOSPC, EDQUOT, EFBIG].contains(error.errno) else { throw error }
      // A full disk's last bytes may be enough for this value.
      try segment.lock.file.reserve(end)
      segment.allocated = end
    }
  }

  private func make(_ owner: UInt64, _ state: inout State) throws(SystemError) -> GrowingSegment {
    let folder = folder
    while true {
      let identifier = UInt64.random(in: 1 ... .max)
      guard let lock = try folder.make(identifier, owner: owner, synchronized: isSynchronized) else { continue }
      state.hasNewNames = true
      return GrowingSegment(identifier, owner: owner, lock, tail: ValueSegment.headerSize)
    }
  }

  /// Continues an unowned segment, once: short-lived processes would otherwise leave one each.
  private func adopt(_ owner: UInt64, _ state: inout State) throws(SystemError) -> GrowingSegment? {
    if state.hasLookedForOthers { return nil }
    state.hasLookedForOthers = true
    let folder = folder
    for found in try folder.segments().prefix(Self.maximumLooks)
    where found.size >= ValueSegment.headerSize && found.size < segmentSize / 4 * 3 {
      guard let lock = try folder.take(found.identifier),
        try ValueSegment.owner(lock.file, identifier: found.identifier) != nil
      else { continue }
      try ValueSegment.writeOwner(owner, lock.file)
      let size = ValueEntry.padded(try lock.file.status().size)
      let segment = GrowingSegment(found.identifier, owner: owner, lock, tail: size)
      // Its writer's data, and the segment's name, may not be on disk yet.
      segment.isDirty.store(true, ordering: .relaxed)
      state.hasNewNames = true
      return segment
    }
    return nil
  }

  // MARK: Before a commit

  /// Makes everything appended so far durable.
  func synchronize() throws(SystemError) {
    try synchronizing.withLock { _ throws(SystemError) in try synchronizeAlone() }
  }

  private func synchronizeAlone() throws(SystemError) {
    let (dirty, hasNewNames) = state.withLock { state in
      let dirty = state.held.filter { $0.isDirty.load(ordering: .acquiring) }
      defer { state.hasNewNames = false }
      return (dirty, state.hasNewNames)
    }
    do throws(SystemError) {
      if hasNewNames { try folder.synchronize() }
    } catch {
      state.withLock { $0.hasNewNames = true }
      throw error
    }
    for segment in dirty {
      segment.isDirty.store(false, ordering: .sequentiallyConsistent)
      do throws(SystemError) {
        if segment.isSuspect { try writeAgain(segment) }
        try segment.lock.file.synchronize()
        segment.isSuspect = false
      } catch {
        segment.isDirty.store(true, ordering: .releasing)
        segment.isSuspect = true
        // Later appends go elsewhere, so nothing writes to it during the rewrite.
        retire(segment.identifier)
        throw error
      }
    }
  }

  /// Rewrites everything after a failed sync, because the system reports a failure once and then counts the pages as
  /// written (fsync(2); PostgreSQL's findings of 2018).
  private func writeAgain(_ segment: GrowingSegment) throws(SystemError) {
    waitForWriters(segment)
    let tail = try state.withLock { (_) throws(SystemError) in
      try ValueSegment.writeHeader(segment.lock.file, identifier: segment.identifier, owner: segment.owner)
      return segment.tail
    }
    try segment.lock.file.write(ValueSegment.headerSize..<tail, of: segment.lock.file)
  }

  /// Waits for the writes to a retired segment.
  private func waitForWriters(_ segment: GrowingSegment) {
    while segment.writers.load(ordering: .acquiring) > 0 { MonotonicClock.sleep(nanoseconds: 100_000) }
  }

  /// Also synchronizes released segments, for ``Durability/fast``, whose commits do not sync.
  func synchronizeAll() throws(SystemError) {
    try synchronize()
    let isNeeded = state.withLock { state in
      defer { state.hasUnsynchronizedSegments = false }
      return state.hasUnsynchronizedSegments
    }
    guard isNeeded else { return }
    do throws(SystemError) {
      try current.value.synchronizeVolume()
    } catch {
      state.withLock { $0.hasUnsynchronizedSegments = true }
      throw error
    }
  }

  /// Restores segments that were deleted or moved, and whose values may be in no database yet. Writer thread.
  func restoreDeleted() throws(SystemError) {
    let folder = folder
    for segment in state.withLock(\.held) where try !folder.has(segment.identifier, segment.lock.file) {
      // It has the only copy, so it is kept until there is another: restoring may fail.
      retire(segment.identifier)
      waitForWriters(segment)
      let (tail, owner) = state.withLock { _ in (segment.tail, segment.owner) }
      let lock = try folder.restore(segment.identifier, segment.lock.file, size: tail)
      if isSynchronized {
        try lock.file.synchronize()
        try current.value.synchronize()
        try folder.synchronize()
      }
      let restored = GrowingSegment(segment.identifier, owner: owner, lock, tail: tail, holds: segment.holds)
      state.withLock { state in
        state.retired.removeAll { $0 === segment }
        state.retired.append(restored)
      }
    }
  }

  /// Switches to another journal, because the old one was deleted.
  func follow(journal owner: UInt64) throws(SystemError) {
    try state.withLock { (state) throws(SystemError) in
      state.renewedOwner = owner
      for segment in state.held where segment.owner != owner {
        try ValueSegment.writeOwner(owner, segment.lock.file)
        segment.owner = owner
      }
    }
  }

  // MARK: Giving segments away

  /// Retires the segment if it is active; later appends go to another one.
  func retire(_ identifier: UInt64) {
    state.withLock { state in
      guard let active = state.active, active.identifier == identifier else { return }
      state.active = nil
      state.retired.append(active)
    }
  }

  /// Allocated bytes beyond the ends of segments.
  var reservedBytes: Int { state.withLock { $0.held.reduce(0) { $0 + max(0, $1.allocated - $1.tail) } } }

  var hasRetired: Bool { state.withLock { !$0.retired.isEmpty } }

  var active: (identifier: UInt64, size: Int)? { state.withLock { $0.active.map { ($0.identifier, $0.tail) } } }

  /// Releases retired segments whose records are all committed. Writer thread.
  ///
  /// - Parameter journal: Returns the numbers of the journal's segments last written and last committed.
  func release(_ journal: () -> (last: Int, committed: Int)) {
    // They get no more values, and all their records are in the journal before it is asked.
    let complete = state.withLock { state in state.retired.filter { $0.holds.count.load(ordering: .acquiring) == 0 } }
    if complete.isEmpty { return }
    let (last, committed) = journal()
    state.withLock { state in
      for segment in complete {
        let boundary = segment.boundary ?? last
        segment.boundary = boundary
        guard committed >= boundary else { continue }
        if !isSynchronized, segment.isDirty.load(ordering: .acquiring) { state.hasUnsynchronizedSegments = true }
        finish(segment)
        state.retired.removeAll { $0 === segment }
        // If that fails, the segment stays this process's until it closes.
        do throws(SystemError) { try ValueSegment.writeOwner(0, segment.lock.file) } catch {}
      }
    }
  }

  /// Releases all segments: the journal is gone, or identifies them for its replay.
  func close() {
    state.withLock { state in
      for segment in state.held where segment.holds.count.load(ordering: .acquiring) == 0 { finish(segment) }
      state = State()
      state.isClosed = true
    }
  }

  private func finish(_ segment: GrowingSegment) {
    guard segment.allocated > segment.tail else { return }
    // A failure only costs space.
    do throws(SystemError) {
      try segment.lock.file.truncate(to: segment.tail)
      segment.allocated = segment.tail
    } catch {}
  }
}
