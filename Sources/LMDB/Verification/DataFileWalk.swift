import Platform

package final class DataFileWalk {
  package typealias Visit = (_ key: UnsafeRawBufferPointer, _ value: DataFileValue) throws(DataFileError) -> Void

  /// `CURSOR_STACK`
  private static let maximumDepth = 32
  /// `offsetof(MDB_page, mp_ptrs)`
  static let headerSize = 16
  /// The most bytes read before a large value and of it.
  private static let overflowPrefix = 16 + 1_024

  private let file: DataFile
  let meta: MetaPage
  let pageSize: Int
  let visit: Visit
  private let pagesInFile: Int
  private var used = PageSet()
  private var result = VerifiedDataFile()
  /// One page per level, reused; the last is for the first pages of large values.
  private let buffers: UnsafeMutableRawPointer

  init(_ file: consuming DataFile, _ meta: MetaPage, _ visit: @escaping Visit) {
    self.meta = meta
    self.visit = visit
    pageSize = Int(meta.pageSize)
    pagesInFile = file.size / pageSize
    buffers = .allocate(byteCount: pageSize * (2 * Self.maximumDepth + 1), alignment: 4096)
    result.size = file.size
    self.file = file
  }

  deinit { buffers.deallocate() }

  func run() throws(DataFileError) -> VerifiedDataFile {
    result.pageSize = pageSize
    result.transactionID = meta.transactionID
    result.pages = Int(meta.lastPage) + 1
    result.bytesRead = 2 * MetaPage.length
    _ = used.insert(0)
    _ = used.insert(1)
    let page = meta.transactionID & 1
    var free = TreeWalk(self, meta.free, .freeList, recordedIn: page)
    try free.run()
    var main = TreeWalk(self, meta.main, .main, recordedIn: page)
    try main.run()
    result.depth = Int(meta.main.depth)
    result.entries = Int(meta.main.entries)
    // Free pages may not have been written yet; all others have been.
    for page in stride(from: pagesInFile, to: result.pages, by: 1) where !used.contains(page) {
      throw .finding(
        DataFileFinding(
          .truncated, page: UInt64(page),
          "the page is not in the file, which has \(file.size) bytes, and not in the free list"))
    }
    result.unreferencedPages = result.pages - used.count
    return result
  }

  // MARK: Pages

  /// The buffer of a level. Named databases use separate levels.
  func buffer(level: Int, isNested: Bool) -> UnsafeMutableRawPointer {
    buffers + (level + (isNested ? Self.maximumDepth : 0)) * pageSize
  }

  func checkDepth(_ record: DatabaseRecord, recordedIn page: UInt64) throws(DataFileError) {
    guard record.depth <= Self.maximumDepth, (record.depth == 0) == record.isEmpty else {
      throw .finding(DataFileFinding(.depth, page: page, "a tree of depth \(record.depth) with root \(record.root)"))
    }
  }

  /// Claims `count` pages from `page`, which must be unclaimed and in the file.
  func take(_ page: UInt64, count: UInt64 = 1, from parent: UInt64) throws(DataFileError) -> Int {
    guard page >= 2, page <= meta.lastPage, count <= meta.lastPage - page + 1 else {
      throw .finding(
        DataFileFinding(
          .pageNumber, page: parent, "refers to \(count) page(s) from \(page) on, and the last is \(meta.lastPage)"))
    }
    guard page + count <= UInt64(pagesInFile) else {
      throw .finding(
        DataFileFinding(.truncated, page: page, "page \(parent) refers to it, and the file has \(pagesInFile) pages"))
    }
    for number in Int(page)..<Int(page + count) where !used.insert(number) {
      throw .finding(
        DataFileFinding(.doubleUse, page: UInt64(number), "page \(parent) refers to it, and it is used or free already")
      )
    }
    return Int(page)
  }

  /// Claims a page of the free list, which may lie past the end of the file.
  func takeFree(_ page: UInt64, from parent: UInt64) throws(DataFileError) {
    guard page >= 2, page <= meta.lastPage else {
      throw .finding(
        DataFileFinding(.freeList, page: parent, "page \(page) is free, and the last is \(meta.lastPage)"))
    }
    guard used.insert(Int(page)) else {
      throw .finding(DataFileFinding(.doubleUse, page: page, "it is free, and used or free already"))
    }
    result.freePages += 1
  }

  /// Reads a whole page, or its first `count` bytes.
  func read(
    _ page: Int, into buffer: UnsafeMutableRawPointer, offset: Int = 0, count: Int? = nil
  ) throws(DataFileError) {
    let count = count ?? pageSize
    result.bytesRead += count
    let isWhole: Bool
    do throws(LMDBError) {
      isWhole = try file.read(
        UnsafeMutableRawBufferPointer(start: buffer, count: count), at: page * pageSize + offset)
    } catch {
      throw .unreadable(error)
    }
    if !isWhole { throw .finding(DataFileFinding(.truncated, page: UInt64(page), "the file became shorter")) }
  }

  /// Claims a large value's pages and checks the first one. Returns the value's beginning, valid until the next call.
  func overflow(
    _ page: UInt64, valueSize: Int, from parent: UInt64, pages: inout UInt64
  ) throws(DataFileError) -> UnsafeRawBufferPointer {
    let needed = UInt64((Self.headerSize - 1 + valueSize) / pageSize + 1)
    // Checked before the read: the page must be in the file.
    guard page >= 2, page <= meta.lastPage, page < UInt64(pagesInFile) else {
      throw .finding(DataFileFinding(.overflow, page: parent, "a value is said to be in page \(page)"))
    }
    let buffer = buffers + 2 * Self.maximumDepth * pageSize
    let count = min(Self.overflowPrefix, Self.headerSize + valueSize)
    try read(Int(page), into: buffer, count: count)
    let header = UnsafeRawPointer(buffer)
    let recorded = UInt64(header.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
    guard header.loadUnaligned(as: UInt64.self) == page else {
      throw .finding(
        DataFileFinding(.pageNumber, page: page, "the page says it is page \(header.loadUnaligned(as: UInt64.self))"))
    }
    // `P_OVERFLOW`
    guard header.loadUnaligned(fromByteOffset: 10, as: UInt16.self) == 4 else {
      throw .finding(DataFileFinding(.pageFlags, page: page, "page \(parent) takes it for a large value's"))
    }
    // A value that replaced a longer one in the same transaction has spare pages.
    guard recorded >= needed, recorded <= UInt64(UInt32.max) / UInt64(pageSize) + 2 else {
      throw .finding(
        DataFileFinding(.overflow, page: page, "it begins \(recorded) pages, and its value needs \(needed)"))
    }
    _ = try take(page, count: recorded, from: parent)
    pages += recorded
    return UnsafeRawBufferPointer(start: buffer + Self.headerSize, count: count - Self.headerSize)
  }

  func add(branchPages: UInt64, leafPages: UInt64, overflowPages: UInt64) {
    result.branchPages += Int(branchPages)
    result.leafPages += Int(leafPages)
    result.overflowPages += Int(overflowPages)
  }
}

struct TreeWalk {
  enum Role { case freeList, main, named }

  /// `MDB_MAXKEYSIZE`
  private static let maximumKeySize = 511
  private static let bigData: UInt16 = 1
  private static let subData: UInt16 = 2

  let walk: DataFileWalk
  private let record: DatabaseRecord
  private let role: Role
  /// The page that holds the tree's record.
  private let place: UInt64
  private var branchPages: UInt64 = 0
  private var leafPages: UInt64 = 0
  private var overflowPages: UInt64 = 0
  private var entries: UInt64 = 0
  /// The greatest key of the free list so far.
  private var lastFreeTransaction: UInt64 = 0

  init(_ walk: DataFileWalk, _ record: DatabaseRecord, _ role: Role, recordedIn place: UInt64) {
    self.walk = walk
    self.record = record
    self.role = role
    self.place = place
  }

  private typealias Key = UnsafeRawBufferPointer

  mutating func run() throws(DataFileError) {
    if role != .freeList, record.flags != 0 || record.pad != 0 {
      throw .finding(
        DataFileFinding(.unsupported, page: place, "a database has the flags \(record.flags), padding \(record.pad)"))
    }
    try walk.checkDepth(record, recordedIn: place)
    if !record.isEmpty { try follow(record.root, level: 1, from: place, lower: nil, upper: nil) }
    try compare(record.branchPages, branchPages, "branch pages")
    try compare(record.leafPages, leafPages, "leaf pages")
    try compare(record.overflowPages, overflowPages, "overflow pages")
    try compare(record.entries, entries, "entries")
    walk.add(branchPages: branchPages, leafPages: leafPages, overflowPages: overflowPages)
  }

  private func compare(_ recorded: UInt64, _ found: UInt64, _ what: String) throws(DataFileError) {
    if recorded != found {
      throw .finding(
        DataFileFinding(.statistics, page: place, "\(recorded) \(what) are recorded, and \(found) were found"))
    }
  }

  /// - Parameters:
  ///   - lower: The lowest allowed key; `nil` for no bound.
  ///   - upper: All keys must be less; `nil` for no bound.
  private mutating func follow(
    _ page: UInt64, level: Int, from parent: UInt64, lower: Key?, upper: Key?
  ) throws(DataFileError) {
    let number = try walk.take(page, from: parent)
    let buffer = walk.buffer(level: level - 1, isNested: role == .named)
    try walk.read(number, into: buffer)
    let layout = try PageLayout(UnsafeRawPointer(buffer), number: page, size: walk.pageSize)
    if level < Int(record.depth) {
      guard layout.flags == PageLayout.branch else {
        throw .finding(
          DataFileFinding(.pageFlags, page: page, "flags \(layout.flags) where level \(level) has branches"))
      }
      branchPages += 1
      try followBranch(layout, level: level, lower: lower, upper: upper)
    } else {
      guard layout.flags == PageLayout.leaf else {
        throw .finding(DataFileFinding(.pageFlags, page: page, "flags \(layout.flags) where level \(level) has leaves"))
      }
      leafPages += 1
      try readLeaf(layout, lower: lower, upper: upper)
    }
  }

  private mutating func followBranch(
    _ layout: PageLayout, level: Int, lower: Key?, upper: Key?
  ) throws(DataFileError) {
    // LMDB asserts this except for the free list.
    guard layout.count >= (role == .freeList ? 1 : 2) else {
      throw .finding(DataFileFinding(.node, page: layout.number, "a branch page with \(layout.count) entries"))
    }
    // Check the whole page before its children.
    var total = 0
    var previous: Key?
    for index in 0..<layout.count {
      let node = try layout.node(index)
      total += node.paddedSize(dataSize: 0)
      try checkKeySize(node, layout, canBeEmpty: index == 0)
      // A branch page's first key is empty: it covers everything below the second.
      if index == 0 { continue }
      try checkOrder(node.key, previous, lower: lower, upper: upper, layout)
      previous = node.key
    }
    try layout.checkRoom(total)
    for index in 0..<layout.count {
      let node = try layout.node(index)
      let next = index + 1 < layout.count ? try layout.node(index + 1).key : upper
      try follow(
        node.child, level: level + 1, from: layout.number, lower: index == 0 ? lower : node.key, upper: next)
    }
  }

  private mutating func readLeaf(_ layout: PageLayout, lower: Key?, upper: Key?) throws(DataFileError) {
    guard layout.count >= 1 else {
      throw .finding(DataFileFinding(.node, page: layout.number, "a leaf page without entries"))
    }
    var total = 0
    var previous: Key?
    for index in 0..<layout.count {
      let node = try layout.node(index)
      try checkKeySize(node, layout, canBeEmpty: false)
      // A page's keys are in order, so checking its first and last key against the bounds is enough.
      try checkOrder(
        node.key, previous, lower: index == 0 ? lower : nil, upper: index == layout.count - 1 ? upper : nil, layout)
      previous = node.key
      let isBig = node.flags & Self.bigData != 0
      guard node.flags == 0 || node.flags == Self.bigData || node.flags == Self.subData else {
        throw .finding(DataFileFinding(.unsupported, page: layout.number, "entry \(index) has the flags \(node.flags)"))
      }
      let inlineSize = isBig ? 8 : node.dataSize
      guard node.fits(dataSize: inlineSize, in: walk.pageSize) else {
        throw .finding(
          DataFileFinding(.node, page: layout.number, "entry \(index) of \(node.dataSize) bytes leaves the page"))
      }
      total += node.paddedSize(dataSize: inlineSize)
      entries += 1
      try readValue(node, index, isBig: isBig, layout)
    }
    try layout.checkRoom(total)
  }

  private mutating func readValue(
    _ node: PageLayout.Node, _ index: Int, isBig: Bool, _ layout: PageLayout
  ) throws(DataFileError) {
    let value: UnsafeRawBufferPointer
    var page: UInt64 = 0
    if isBig {
      page = node.data.loadUnaligned(as: UInt64.self)
      value = try walk.overflow(page, valueSize: node.dataSize, from: layout.number, pages: &overflowPages)
    } else {
      value = UnsafeRawBufferPointer(start: node.data, count: node.dataSize)
    }
    switch role {
    case .freeList:
      let list = FreePageList(walk, key: node.key, page: layout.number)
      if isBig {
        try list.read(fromPage: Int(page), size: node.dataSize, last: &lastFreeTransaction)
      } else {
        try list.read(value, last: &lastFreeTransaction)
      }
    case .main where node.flags == Self.subData:
      guard node.dataSize == DatabaseRecord.size else {
        throw .finding(
          DataFileFinding(.node, page: layout.number, "entry \(index) of \(node.dataSize) bytes is a named database"))
      }
      var named = TreeWalk(walk, DatabaseRecord(node.data), .named, recordedIn: layout.number)
      try named.run()
    case .main:
      try walk.visit(
        node.key, DataFileValue(walk, beginning: value, size: node.dataSize, page: isBig ? Int(page) : nil))
    case .named:
      guard node.flags != Self.subData else {
        throw .finding(DataFileFinding(.unsupported, page: layout.number, "entry \(index) is a database in a database"))
      }
    }
  }

  // MARK: Keys

  private func checkKeySize(
    _ node: PageLayout.Node, _ layout: PageLayout, canBeEmpty: Bool
  ) throws(DataFileError) {
    let size = node.key.count
    let isRight = role == .freeList ? size == 8 : size > 0 && size <= Self.maximumKeySize
    guard isRight || (canBeEmpty && size == 0) else {
      throw .finding(DataFileFinding(.node, page: layout.number, "a key of \(size) bytes"))
    }
  }

  @inline(__always)
  private func checkOrder(
    _ key: Key, _ previous: Key?, lower: Key?, upper: Key?, _ layout: PageLayout
  ) throws(DataFileError) {
    if let previous, !precedes(previous, key) {
      throw .finding(DataFileFinding(.keyOrder, page: layout.number, "the keys are not in order"))
    }
    if let lower, precedes(key, lower) {
      throw .finding(DataFileFinding(.keyOrder, page: layout.number, "a key is less than the page above says"))
    }
    if let upper, !precedes(key, upper) {
      throw .finding(DataFileFinding(.keyOrder, page: layout.number, "a key is greater than the page above says"))
    }
  }

  /// LMDB's orders: bytewise, shorter first; by integer in the free list.
  @inline(__always)
  private func precedes(_ first: Key, _ second: Key) -> Bool {
    if role == .freeList { return first.loadUnaligned(as: UInt64.self) < second.loadUnaligned(as: UInt64.self) }
    let order = memcmp(first.baseAddress!, second.baseAddress!, min(first.count, second.count))
    return order == 0 ? first.count < second.count : order < 0
  }
}

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

/// A set of page numbers, one bit each. Memory grows with its members, not with the last page that a file claims.
struct PageSet {
  /// Numbers per chunk of 8 KiB.
  private static let chunk = 1 << 16
  private var chunks: [Int: [UInt64]] = [:]
  private(set) var count = 0

  /// Returns whether the number is new.
  @inline(__always)
  mutating func insert(_ page: Int) -> Bool {
    let isNew = Self.insert(
      page % Self.chunk, into: &chunks[page / Self.chunk, default: Array(repeating: 0, count: Self.chunk / 64)])
    if isNew { count += 1 }
    return isNew
  }

  private static func insert(_ number: Int, into words: inout [UInt64]) -> Bool {
    let bit: UInt64 = 1 << UInt64(number & 63)
    if words[number >> 6] & bit != 0 { return false }
    words[number >> 6] |= bit
    return true
  }

  func contains(_ page: Int) -> Bool {
    guard let words = chunks[page / Self.chunk] else { return false }
    return words[(page % Self.chunk) >> 6] & 1 << UInt64(page & 63) != 0
  }
}

/// A value that the verification visits. Valid until `visit` returns.
package struct DataFileValue {
  /// The whole value, or at least the first 1,024 bytes of one in overflow pages.
  package let beginning: UnsafeRawBufferPointer
  /// Bytes.
  package let size: Int
  private let walk: DataFileWalk
  /// Its first overflow page, if any.
  private let page: Int?

  init(_ walk: DataFileWalk, beginning: UnsafeRawBufferPointer, size: Int, page: Int?) {
    self.walk = walk
    self.beginning = beginning
    self.size = size
    self.page = page
  }

  /// Calls `body` with the last `count` bytes, or with all if there are fewer.
  package func withEnd<R>(_ count: Int, _ body: (UnsafeRawBufferPointer) -> R) throws(DataFileError) -> R {
    let count = min(count, size)
    guard let page, beginning.count < size else {
      return body(UnsafeRawBufferPointer(rebasing: beginning[(size - count)...]))
    }
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, count), alignment: 8)
    defer { bytes.deallocate() }
    try walk.read(page, into: bytes.baseAddress!, offset: DataFileWalk.headerSize + size - count, count: count)
    return body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
  }
}
