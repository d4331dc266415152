import Platform

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
    guard case .journal(let memory) = owner, let part = blocksToGiveBack(memory.map) else { return }
    // First, because a failure leaves the state of the blocks unknown.
    let all = ready
    ready = part.lowerBound - (base - memory.map.base)
    do throws(SystemError) { try memory.giveBack(part) } catch {
      if error.errno == EOPNOTSUPP { ready = all }
      throw error
    }
  }

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

  /// Reserves blocks for `size` more bytes, doubling the segment's blocks. Returns `false` beyond its capacity.
  func reserve(_ size: Int) throws(SystemError) -> Bool {
    guard case .journal(let memory) = owner, used + size <= capacity else { return false }
    let (start, page) = (base - memory.map.base, MemoryMap.pageSize)
    let end = min(start + capacity, (start + max(used + size, 2 * ready) + page - 1) / page * page)
    try memory.reserve(start + ready..<end)
    ready = end - start
    return true
  }
}
