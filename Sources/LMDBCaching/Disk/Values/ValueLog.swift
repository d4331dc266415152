import Platform
import Synchronization

/// Where this process writes the values that are too long for the database: once, at the end of a segment of its own. The
/// record, in the journal and then in the database, has a ``ValuePointer``. (Bitcask, WiscKey and RocksDB's BlobDB are
/// built so.)
///
/// A segment is *active* while values are appended to it, then *retired* until all their records are committed, then
/// nobody's: whoever finds that nothing refers to it any more removes it, and whoever finds it sparse moves what is left
/// into an active segment of its own: see ``ValueLogKeeper``. A process that begins goes on with a short segment that is
/// nobody's.
///
/// Threads: any.
final class ValueLog: Sendable {
  /// What a long value is appended to no more; it gets a segment of its own. So moving values is done in short steps.
  private static let sharesOfSegment = 4
  /// Bytes for which blocks are reserved at once, half of what the segment has between these two: a file that grows with
  /// every write is slower. A call takes as long for many blocks as for few, 15 to 50 µs, of the caller's time.
  private static let (leastStep, greatestStep) = (256 << 10, 4 << 20)
  /// What is written to the device early are whole parts of this many bytes.
  private static let earlyPart = 1 << 20
  /// Telling the system to write takes half as long as the writing to the page cache.
  private static let earlyWriting = ThreadPool(name: "LMDB writing")
  /// Of the error of who appends after ``close()``.
  static let errnoOfClosed = ESHUTDOWN
  /// How many segments of others a process looks at for one to go on with.
  private static let maximumLooks = 64

  private let current: CurrentDirectory
  private let isSynchronized: Bool
  private let segmentSize: Int
  private let state = Mutex(State())
  /// Held while segments are synchronized: who finds nothing to do must not go on before it is done.
  private let synchronizing = Mutex(())

  private struct State {
    var active: GrowingSegment?
    var retired: [GrowingSegment] = []
    var hasLookedForOthers = false
    /// The journal that took the first one's place, whose identifier a caller may still have; 0 if none did.
    var renewedOwner: UInt64 = 0
    var isClosed = false
    var hasNewNames = false
    /// Whether a segment was released that was not synchronized.
    var hasUnsynchronizedSegments = false

    var held: [GrowingSegment] { retired + [active].compactMap(\.self) }
  }

  /// - Parameter segmentSize: Bytes of a segment, unless it has a longer value.
  init(_ current: CurrentDirectory, durability: Durability, segmentSize: Int) {
    self.current = current
    self.segmentSize = segmentSize
    isSynchronized = durability != .fast
  }

  private var folder: ValueFolder { ValueFolder(cache: current.value) }

  /// Bytes from which on a group has a segment of its own: it is to be appended before.
  var groupLimit: Int { segmentSize / Self.sharesOfSegment }

  // MARK: Appending

  /// Appends a value; returns when it survives the death of the process. Its segment stays until ``AppendedValue/end()``.
  ///
  /// - Parameters:
  ///   - key: LMDB's key of the record.
  ///   - owner: The journal that the record is written to.
  ///   - isAwaited: Whether somebody waits until it is on the disk: writing it there is begun at once.
  func append(
    _ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, owner: UInt64, isAwaited: Bool = false
  ) throws(SystemError) -> AppendedValue {
    let hash = RecordHeader.payloadHash(value)
    let place = try begin(ValueEntry.size(keyLength: key.count, length: value.count), count: 1, owner)
    let segment = place.segment
    let entry = ValueEntry(offset: place.offset, keyLength: key.count, length: value.count, hash: hash)
    do throws(SystemError) {
      try withStackBytes(ValueEntry.greatestHead) { (head) throws(SystemError) in
        entry.writeHead(to: head.baseAddress!, key: key, segment: segment.identifier)
        let head = UnsafeRawBufferPointer(rebasing: head[..<ValueEntry.headLength(key.count)])
        try segment.lock.file.write(head, value, at: place.offset)
      }
    } catch {
      giveBack(place)
      throw error
    }
    end(place, isAwaited)
    return AppendedValue(entry.pointer(segment.identifier), in: segment)
  }

  /// Appends the values of a group, which is empty after that: see ``append(_:key:owner:isAwaited:)``.
  func append(_ group: inout ValueGroup, owner: UInt64, isAwaited: Bool) throws(SystemError) -> [AppendedValue] {
    let place = try begin(group.size, count: group.count, owner)
    let segment = place.segment
    let (bytes, pointers) = group.seal(at: place.offset, in: segment.identifier)
    do throws(SystemError) {
      try segment.lock.file.write(bytes, at: place.offset)
    } catch {
      giveBack(place)
      throw error
    }
    group.removeAll()
    end(place, isAwaited)
    return pointers.map { AppendedValue($0, in: segment) }
  }

  /// Where values are being written.
  private struct Place {
    let segment: GrowingSegment
    let offset: Int
    let size: Int
    /// Of values.
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
    // The device is busy while the caller goes on. (The page that the next value begins in would be written twice.)
    guard isAwaited, isSynchronized else { return }
    let start = place.offset / Self.earlyPart * Self.earlyPart
    let end = (place.offset + place.size) / Self.earlyPart * Self.earlyPart
    if start < end { Self.earlyWriting.run(isKept: false) { segment.lock.file.startWriting(start..<end) } }
  }

  /// Ends with a value that could not be written. Where others may have been written behind its place, that stays as it is,
  /// a hole.
  private func giveBack(_ place: Place) {
    let segment = place.segment
    segment.writers.subtract(1, ordering: .releasing)
    state.withLock { _ in
      if segment.tail == place.offset + place.size {
        segment.tail = place.offset
        // What was written of it may be what fills the disk.
        finish(segment)
      }
      segment.holds.count.subtract(place.count, ordering: .releasing)
    }
  }

  /// Finds a segment and room in it. With the lock held.
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
        // It was made to move values, before anything was written.
        try ValueSegment.writeOwner(owner, segment.lock.file)
        segment.owner = owner
      }
    } else {
      // What is wrong with another's segment is not this value's concern.
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
        // Nothing was written to it, and nothing refers to it.
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
      // The last bytes of a full disk may be enough for this value.
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

  /// Goes on with a segment that is nobody's, once: processes that live for a short time would leave one each.
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
      // What its writer left may not be on the disk, nor the segment's name.
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
        // What is appended from now on goes elsewhere: nobody writes to it while it is written again.
        retire(segment.identifier)
        throw error
      }
    }
  }

  /// Has the system write everything to the device once more, after it failed to: it tells of that once, and counts the
  /// pages as written from then on. (fsync(2), and what PostgreSQL found of it in 2018.)
  private func writeAgain(_ segment: GrowingSegment) throws(SystemError) {
    waitForWriters(segment)
    let tail = try state.withLock { (_) throws(SystemError) in
      try ValueSegment.writeHeader(segment.lock.file, identifier: segment.identifier, owner: segment.owner)
      return segment.tail
    }
    try segment.lock.file.write(ValueSegment.headerSize..<tail, of: segment.lock.file)
  }

  /// Until nothing is being written to a segment that nothing is appended to any more.
  private func waitForWriters(_ segment: GrowingSegment) {
    while segment.writers.load(ordering: .acquiring) > 0 { MonotonicClock.sleep(nanoseconds: 100_000) }
  }

  /// The same as ``synchronize()`` with what was released before. For ``Durability/fast``, where commits wait for nothing.
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

  /// Puts segments back that somebody has deleted or moved away, and whose values may be in no database yet. On the writer
  /// thread.
  func restoreDeleted() throws(SystemError) {
    let folder = folder
    for segment in state.withLock(\.held) where try !folder.has(segment.identifier, segment.lock.file) {
      // It has the only copy, and is kept until there is another one: putting it back may fail.
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

  /// Goes on with another journal, since the old one was deleted.
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

  /// Ends the active segment, if it is that one; what is appended from now on goes into another one.
  func retire(_ identifier: UInt64) {
    state.withLock { state in
      guard let active = state.active, active.identifier == identifier else { return }
      state.active = nil
      state.retired.append(active)
    }
  }

  /// Bytes that are reserved for values to come.
  var reservedBytes: Int { state.withLock { $0.held.reduce(0) { $0 + max(0, $1.allocated - $1.tail) } } }

  /// Whether there are segments that are not released yet.
  var hasRetired: Bool { state.withLock { !$0.retired.isEmpty } }

  /// The active segment and its length, if there is one.
  var active: (identifier: UInt64, size: Int)? { state.withLock { $0.active.map { ($0.identifier, $0.tail) } } }

  /// Lets go of retired segments whose records are all committed. On the writer thread.
  ///
  /// - Parameter journal: Says which of the journal's segments has the last record that was written so far, and which is
  ///   the last one that is committed.
  func release(_ journal: () -> (last: Int, committed: Int)) {
    // Nothing is appended to them any more, and all of their records are in the journal before it is asked.
    let complete = state.withLock { state in
      state.retired.filter { $0.holds.count.load(ordering: .acquiring) == 0 }
    }
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
        // Where it fails, the segment is this process's until it closes.
        do throws(SystemError) { try ValueSegment.writeOwner(0, segment.lock.file) } catch {}
      }
    }
  }

  /// Lets go of all segments: the journal is gone, or whoever applies it finds them by it.
  func close() {
    state.withLock { state in
      for segment in state.held where segment.holds.count.load(ordering: .acquiring) == 0 { finish(segment) }
      state = State()
      state.isClosed = true
    }
  }

  /// Gives back what was reserved.
  private func finish(_ segment: GrowingSegment) {
    guard segment.allocated > segment.tail else { return }
    // It only takes space.
    do throws(SystemError) {
      try segment.lock.file.truncate(to: segment.tail)
      segment.allocated = segment.tail
    } catch {}
  }
}
