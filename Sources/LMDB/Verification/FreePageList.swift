/// One free list record: the pages that a transaction freed, in descending order.
struct FreePageList {
  private static let word = 8
  private let walk: DataFileWalk
  private let transaction: UInt64
  private let page: UInt64

  init(_ walk: DataFileWalk, key: UnsafeRawBufferPointer, page: UInt64) {
    self.walk = walk
    transaction = key.loadUnaligned(as: UInt64.self)
    self.page = page
  }

  /// Reads a record stored in a leaf.
  func read(_ value: UnsafeRawBufferPointer, last: inout UInt64) throws(DataFileError) {
    let count = try count(value.count, last: &last) { value.loadUnaligned(as: UInt64.self) }
    var previous = UInt64.max
    for index in 0..<count {
      try take(value.loadUnaligned(fromByteOffset: (index + 1) * Self.word, as: UInt64.self), &previous)
    }
  }

  /// Reads a record in overflow pages, piece by piece.
  func read(fromPage start: Int, size: Int, last: inout UInt64) throws(DataFileError) {
    let piece = UnsafeMutableRawPointer.allocate(byteCount: walk.pageSize, alignment: Self.word)
    defer { piece.deallocate() }
    try walk.read(start, into: piece, offset: DataFileWalk.headerSize, count: Self.word)
    let count = try count(size, last: &last) { piece.load(as: UInt64.self) }
    var previous = UInt64.max
    var done = 0
    while done < count {
      let part = min(count - done, walk.pageSize / Self.word)
      // Its pages were checked to be in the file.
      try walk.read(
        start, into: piece, offset: DataFileWalk.headerSize + (done + 1) * Self.word, count: part * Self.word)
      for index in 0..<part { try take(piece.load(fromByteOffset: index * Self.word, as: UInt64.self), &previous) }
      done += part
    }
  }

  private func count(
    _ size: Int, last: inout UInt64, _ first: () -> UInt64
  ) throws(DataFileError) -> Int {
    guard transaction > 0, transaction <= walk.meta.transactionID, transaction > last else {
      throw .finding(
        DataFileFinding(.freeList, page: page, "pages freed by transaction \(transaction), after \(last)"))
    }
    last = transaction
    guard size >= Self.word, size % Self.word == 0, first() < UInt64(size / Self.word) else {
      throw .finding(DataFileFinding(.freeList, page: page, "a record of \(size) bytes does not hold its pages"))
    }
    return Int(first())
  }

  private func take(_ free: UInt64, _ previous: inout UInt64) throws(DataFileError) {
    guard free < previous else {
      throw .finding(DataFileFinding(.freeList, page: page, "free page \(free) is not in order"))
    }
    previous = free
    try walk.takeFree(free, from: page)
  }
}
