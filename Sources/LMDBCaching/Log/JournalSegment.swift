import Platform

/// Frames that are committed together, and an index of the newest frame for every key.
///
/// Not thread-safe: ``Journal`` guards it with its lock. Nothing is appended during a commit, so the writer thread
/// reads it without the lock.
final class JournalSegment {
  /// Room for the generation and the previous frame's stamp: one cache line, which a disk writes atomically.
  static let headerSize = 64
  private static let previousOffset = 8

  struct PrefixRemoval {
    let prefix: [UInt8]
    let stamp: UInt64
  }

  enum Owner {
    case journal(JournalMemory)
    case memory
    case batch(BatchFrames)
  }

  enum Lookup {
    case unknown
    case removed
    case found(JournalFrame)
  }

  let owner: Owner
  let memory: MutableByteView
  /// In the journal's file.
  private let start: Int
  var capacity: Int { memory.count }
  /// The bytes whose blocks the file has, which may be stored to (``reserve(_:)``).
  var ready: Int
  private let seed: UInt64
  private var generation: UInt64

  private(set) var used = headerSize
  private(set) var count = 0
  private(set) var clearStamp: UInt64 = 0
  private(set) var prefixRemovals: [PrefixRemoval] = []
  /// The stamps of removals, by tag hash.
  private(set) var tagRemovals: [UInt64: UInt64] = [:]
  private(set) var lastStamp: UInt64 = 0
  /// Removals of all entries or by prefix outside of batches: on a full disk they may be committed first.
  private(set) var removals: [PrefixRemoval] = []
  /// Whether a removal leaves no trace in the database once committed.
  private(set) var leavesNothing = false

  /// Whether it holds one write, which waits for the commit.
  let isAlone: Bool

  var number = 0
  /// The monotonic time of the first append.
  var firstAppend: Int64 = 0

  /// Open addressing with linear probing. A word's upper half is the key's hash, its lower half the frame's offset
  /// divided by eight; 0 is free, because offset 0 is the header.
  private var words: [UInt64]
  private var mask: Int { words.count - 1 }

  init(in journal: JournalMemory, at offset: Int, capacity: Int, seed: UInt64) {
    memory = unsafe MutableByteView(start: journal.map.base + offset, count: capacity)
    start = offset
    ready = Self.keptPart(at: offset, capacity: capacity).upperBound - offset
    self.seed = seed
    owner = .journal(journal)
    isAlone = false
    generation = UInt64.random(in: 1..<1 << 48)
    words = [UInt64](repeating: 0, count: 1024)
    memory.store(generation)
  }

  /// Anonymous memory: for writes that the file cannot take, or for one that exceeds a journal segment.
  init(capacity: Int, isAlone: Bool = false) {
    memory = unsafe MutableByteView(.allocate(byteCount: Self.headerSize + capacity, alignment: 64))
    start = 0
    ready = memory.count
    seed = 0
    owner = .memory
    self.isAlone = isAlone
    generation = 1
    words = [UInt64](repeating: 0, count: 1024)
  }

  /// A batch in place that exceeds a journal segment; call ``append(_:stamp:)`` for its frames.
  init(of batch: BatchFrames) {
    memory = batch.memory[..<(Self.headerSize + batch.size)]
    start = 0
    ready = memory.count
    seed = 0
    owner = .batch(batch)
    isAlone = true
    generation = 1
    words = [UInt64](repeating: 0, count: 1024)
  }

  deinit { if case .memory = owner { unsafe memory.buffer.deallocate() } }

  var isEmpty: Bool { used == Self.headerSize }
  var isMapped: Bool { map != nil }
  var map: MemoryMap? { if case .journal(let memory) = owner { memory.map } else { nil } }
  /// The room for frames without reserving more blocks.
  var free: Int { ready - used }

  /// Removes every frame. The next generation invalidates those in the file.
  func reset() {
    generation += 1
    if isMapped { memory.store(generation) }
    used = Self.headerSize
    count = 0
    clearStamp = 0
    lastStamp = 0
    leavesNothing = false
    prefixRemovals = []
    tagRemovals = [:]
    removals = []
    unsafe words.withUnsafeMutableBufferPointer { unsafe $0.update(repeating: 0) }
  }

  /// Records the stamp of the frame before this segment (``JournalImage``).
  func follow(_ previous: UInt64) {
    if isMapped { memory.store(previous, at: Self.previousOffset) }
  }

  // MARK: Appending. There has to be room: the caller has checked `free`.

  @inline(__always)
  func put(
    key: ByteView, hash: UInt64, stamp: UInt64, flags: JournalFrame.Flags, recordLength: Int,
    fill: (MutableByteView) -> Void
  ) {
    append(.put, key: key, stamp: stamp, flags: flags, recordLength: recordLength, hash: hash, fill: fill)
  }

  func remove(key: ByteView, hash: UInt64, stamp: UInt64, flags: JournalFrame.Flags) {
    leavesNothing = true
    append(.remove, key: key, stamp: stamp, flags: flags, recordLength: 0, hash: hash, fill: { _ in })
  }

  func removeAll(stamp: UInt64, flags: JournalFrame.Flags) {
    forgetAll(stamp: stamp)
    removals = [PrefixRemoval(prefix: [], stamp: stamp)]
    append(.removeAll, key: .empty, stamp: stamp, flags: flags, recordLength: 0, hash: nil) { _ in }
  }

  func removeAll(prefix: ByteView, stamp: UInt64, flags: JournalFrame.Flags) {
    forget(prefix: prefix, stamp: stamp)
    removals.append(PrefixRemoval(prefix: Array(prefix), stamp: stamp))
    append(.removePrefix, key: prefix, stamp: stamp, flags: flags, recordLength: 0, hash: nil) { _ in }
  }

  @inline(__always)
  private func append(
    _ operation: JournalFrame.Operation, key: ByteView, stamp: UInt64, flags: JournalFrame.Flags,
    recordLength: Int, hash: UInt64?, fill: (MutableByteView) -> Void
  ) {
    let size = JournalFrame.size(keyLength: key.count, recordLength: recordLength)
    let frame = memory[used..<used + size]
    JournalFrame.writeFields(frame, operation, key: key, recordLength: recordLength)
    fill(frame[JournalFrame.recordOffset(keyLength: key.count)...])
    JournalFrame.seal(
      frame, flags: flags, stamp: stamp, keyLength: key.count, recordLength: recordLength,
      seed: Self.frameSeed(seed, generation: generation))
    if let hash { index(key, hash, offset: used) }
    used += size
    lastStamp = stamp
  }

  func append(_ batch: BatchFrames, stamp: (BatchFrames.Entry) -> UInt64) {
    let start = used - Self.headerSize
    let isInPlace = if case .batch = owner { true } else { false }
    if !isInPlace { memory.copy(batch.frames, at: used) }
    let seed = Self.frameSeed(seed, generation: generation)
    let entries = batch.entries
    for (index, entry) in entries.enumerated() {
      let place = memory[(start + entry.offset)...]
      let frame = JournalFrame(at: ByteView(place))
      let stamp = stamp(entry)
      let (keyLength, recordLength) = (frame.keyLength, frame.recordLength)
      if entry.headerLength > 0 {
        RecordHeader.seal(
          place[JournalFrame.recordOffset(keyLength: keyLength)...], stamp: stamp,
          fixedLength: entry.headerLength, keyHash: entry.keyHash, payloadHash: entry.payloadHash)
      }
      JournalFrame.seal(
        place, flags: index + 1 < entries.count ? .batchContinues : [], stamp: stamp, keyLength: keyLength,
        recordLength: recordLength, seed: seed)
      switch frame.operation {
      case .put: self.index(frame.key, entry.keyIdentity ?? 0, offset: start + entry.offset)
      case .remove:
        leavesNothing = true
        self.index(frame.key, entry.keyIdentity ?? 0, offset: start + entry.offset)
      case .removeAll: forgetAll(stamp: stamp)
      case .removePrefix: forget(prefix: frame.key, stamp: stamp)
      case .removeTag: tagRemovals[frame.tag] = stamp
      }
      lastStamp = stamp
    }
    used += batch.size
  }

  @inline(__always)
  static func frameSeed(_ seed: UInt64, generation: UInt64) -> UInt64 { seed ^ generation &* 0x9E37_79B9_7F4A_7C15 }

  private func index(_ key: ByteView, _ hash: UInt64, offset: Int) {
    if (count + 1) * 4 > words.count * 3 { grow() }
    let (position, known) = find(key, hash)
    words[position] = hash & 0xFFFF_FFFF_0000_0000 | UInt64(offset >> 3)
    if known == nil { count += 1 }
  }

  /// The place of a key's word, and its frame; or the free place for it.
  @inline(__always)
  private func find(_ key: ByteView, _ hash: UInt64) -> (position: Int, frame: JournalFrame?) {
    let words = words
    let mask = words.count - 1
    var position = Int(truncatingIfNeeded: hash >> 32) & mask
    while case let word = words[position], word != 0 {
      if word >> 32 == hash >> 32, case let frame = frame(of: word), frame.key.elementsEqual(fast: key) {
        return (position, frame)
      }
      position = (position + 1) & mask
    }
    return (position, nil)
  }

  private func grow() {
    let old = words
    words = [UInt64](repeating: 0, count: old.count * 2)
    for word in old where word != 0 { reinsert(word) }
  }

  private func reinsert(_ word: UInt64) {
    var position = Int(truncatingIfNeeded: word >> 32) & mask
    while words[position] != 0 { position = (position + 1) & mask }
    words[position] = word
  }

  private func forgetAll(stamp: UInt64) {
    forgetIndexed { _ in true }
    prefixRemovals = []
    tagRemovals = [:]
    clearStamp = stamp
  }

  private func forget(prefix: ByteView, stamp: UInt64) {
    forgetIndexed { $0.key.hasPrefix(prefix) }
    leavesNothing = true
    prefixRemovals.append(PrefixRemoval(prefix: Array(prefix), stamp: stamp))
  }

  private func forgetIndexed(where condition: (JournalFrame) -> Bool) {
    var kept: [UInt64] = []
    for index in 0...mask where words[index] != 0 {
      let frame = frame(of: words[index])
      if !condition(frame) { kept.append(words[index]) }
      words[index] = 0
    }
    for word in kept { reinsert(word) }
    count = kept.count
  }

  /// Checks that every indexed frame lies within the used part.
  func _checkInvariants() {
    var found = 0
    for index in 0...mask where words[index] != 0 {
      found += 1
      let offset = Int(words[index] & 0xFFFF_FFFF) << 3
      precondition(offset >= Self.headerSize && offset < used, "an indexed frame lies outside of the segment")
      let frame = frame(of: words[index])
      precondition(offset + frame.paddedLength <= used, "an indexed frame reaches past the end")
      precondition(frame.stamp <= lastStamp, "a frame is newer than the last one")
      precondition(frame.operation == .put || frame.operation == .remove, "a removal of many keys is in the index")
    }
    precondition(found == count, "the index holds \(found) keys, and counts \(count)")
    precondition(used <= ready && ready <= capacity, "a frame is where the file has no blocks")
  }

  // MARK: Reading

  @inline(__always)
  private func frame(of word: UInt64) -> JournalFrame {
    JournalFrame(at: ByteView(memory[(Int(word & 0xFFFF_FFFF) << 3)...]))
  }

  func lookup(_ key: ByteView, hash: UInt64) -> Lookup {
    if let frame = find(key, hash).frame { return frame.operation == .put ? .found(frame) : .removed }
    if clearStamp != 0 || prefixRemovals.contains(where: { key.hasPrefix($0.prefix) }) { return .removed }
    return .unknown
  }

  func forEachFrame(_ body: (JournalFrame) -> Void) {
    for index in 0...mask where words[index] != 0 { body(frame(of: words[index])) }
  }

  /// Reads the generation and the stamp of the frame before this segment.
  static func header(_ segment: ByteView) -> (generation: UInt64, previous: UInt64) {
    (segment.load(), segment.load(previousOffset))
  }
}

extension JournalSegment {
  /// The bytes whose blocks a segment always keeps, so that an idle journal accepts writes on a full disk.
  static let bytesKept = 64 << 10

  /// The part of the file that always has its blocks. Whole pages, because a store needs the blocks of its whole page.
  static func keptPart(at start: Int, capacity: Int) -> Range<Int> {
    let page = MemoryMap.pageSize
    let end = (start + bytesKept + page - 1) / page * page
    return start / page * page..<min(start + capacity, end)
  }

  /// Returns an empty segment's blocks beyond its start.
  ///
  /// - Throws: `EOPNOTSUPP` if the file system cannot punch holes: the blocks stay. After other errors, call
  ///   ``reserve(_:)`` before storing there.
  func giveBlocksBack() throws(SystemError) {
    precondition(isEmpty, "a segment with frames keeps its blocks")
    guard case .journal(let journal) = owner, let part = blocksToGiveBack else { return }
    // First, because a failure leaves the state of the blocks unknown.
    let all = ready
    ready = part.lowerBound - start
    do throws(SystemError) { try journal.giveBack(part) } catch {
      if error.errno == EOPNOTSUPP { ready = all }
      throw error
    }
  }

  var hasBlocksToGiveBack: Bool {
    guard isMapped, let part = blocksToGiveBack else { return false }
    return ready > part.lowerBound - start
  }

  private var blocksToGiveBack: Range<Int>? {
    let page = MemoryMap.pageSize
    let first = Self.keptPart(at: start, capacity: capacity).upperBound
    let end = (start + capacity) / page * page
    return first < end ? first..<end : nil
  }

  /// Reserves blocks for `size` more bytes, doubling the segment's blocks. Returns `false` beyond its capacity.
  func reserve(_ size: Int) throws(SystemError) -> Bool {
    guard case .journal(let journal) = owner, used + size <= capacity else { return false }
    let page = MemoryMap.pageSize
    let end = min(start + capacity, (start + max(used + size, 2 * ready) + page - 1) / page * page)
    try journal.reserve(start + ready..<end)
    ready = end - start
    return true
  }
}
