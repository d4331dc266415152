import Platform

extension JournalSegment {
  /// Bytes that a segment has blocks for at all times, so that an idle journal takes writes on a full disk.
  static let bytesKept = 64 << 10

  /// The part of the file that has its blocks at all times. Whole pages: a store makes the system want blocks for all of
  /// its page.
  static func keptPart(at start: Int, capacity: Int) -> Range<Int> {
    let page = MemoryMap.pageSize
    let end = (start + bytesKept + page - 1) / page * page
    return start / page * page..<min(start + capacity, end)
  }

  /// Gives back the blocks that an empty segment has beyond its beginning.
  ///
  /// - Throws: What the system does, `EOPNOTSUPP` where the file system has no holes: then it keeps them all. After any other
  ///   error nothing is stored there before ``reserve(_:)``.
  func giveBlocksBack() throws(SystemError) {
    precondition(isEmpty, "a segment with frames keeps its blocks")
    guard case .journal(let memory) = owner, let part = blocksToGiveBack(memory.map) else { return }
    // Before anything else: what becomes of the blocks if it fails, is not known.
    let all = ready
    ready = part.lowerBound - (base - memory.map.base)
    do throws(SystemError) { try memory.giveBack(part) } catch {
      // Nothing was done.
      if error.errno == EOPNOTSUPP { ready = all }
      throw error
    }
  }

  /// Whether ``giveBlocksBack()`` would do anything.
  var hasBlocksToGiveBack: Bool {
    guard case .journal(let memory) = owner, let part = blocksToGiveBack(memory.map) else { return false }
    return ready > part.lowerBound - (base - memory.map.base)
  }

  private func blocksToGiveBack(_ map: MemoryMap) -> Range<Int>? {
    let (start, page) = (base - map.base, MemoryMap.pageSize)
    let first = Self.keptPart(at: start, capacity: capacity).upperBound
    let end = (start + capacity) / page * page
    return first < end ? first..<end : nil
  }

  /// Gets blocks for `size` more bytes, and as many again as it has. Returns `false` where they are more than it can have.
  func reserve(_ size: Int) throws(SystemError) -> Bool {
    guard case .journal(let memory) = owner, used + size <= capacity else { return false }
    let (start, page) = (base - memory.map.base, MemoryMap.pageSize)
    let end = min(start + capacity, (start + max(used + size, 2 * ready) + page - 1) / page * page)
    try memory.reserve(start + ready..<end)
    ready = end - start
    return true
  }
}
