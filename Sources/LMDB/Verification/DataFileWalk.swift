import Platform

/// One verification of a data file: the pages that its trees and lists refer to.
// @safe: the buffers, which this owns, are at fixed offsets, and at most a page is read into each.
@safe package final class DataFileWalk {
  package typealias Visit = (_ key: UnsafeRawBufferPointer, _ value: DataFileValue) throws(DataFileError) -> Void

  /// The most bytes read of a large value.
  private static let overflowPrefix = 1_024

  private let file: DataFile
  let meta: MetaPage
  let pageSize: Int
  let visit: Visit
  private let pagesInFile: Int
  private var used = PageSet()
  var result = VerifiedDataFile()
  /// One page per level, reused; the last is for the first pages of large values.
  private let buffers: UnsafeMutableRawPointer

  init(_ file: consuming DataFile, _ meta: MetaPage, _ visit: @escaping Visit) {
    self.meta = meta
    unsafe self.visit = visit
    pageSize = Int(meta.pageSize)
    pagesInFile = file.size / pageSize
    unsafe buffers = .allocate(byteCount: pageSize * (2 * TreePage.mostLevels + 1), alignment: 4096)
    result.size = file.size
    self.file = file
  }

  deinit { unsafe buffers.deallocate() }

  func run() throws(DataFileError) -> VerifiedDataFile {
    result.pageSize = pageSize
    result.transactionID = meta.transactionID
    result.pages = Int(meta.lastPage) + 1
    _ = used.insert(0)
    _ = used.insert(1)
    for (record, role) in [(meta.free, TreeWalk.Role.freeList), (meta.main, .main)] {
      var walk = TreeWalk(self, record, role, recordedIn: meta.number)
      try walk.run()
    }
    result.depth = Int(meta.main.depth)
    result.entries = Int(meta.main.entries)
    // Free pages may not have been written yet; all others have been.
    for page in stride(from: pagesInFile, to: result.pages, by: 1) {
      try require(
        used.contains(page), .truncated, UInt64(page),
        "the page is not in the file, which has \(file.size) bytes, and not in the free list")
    }
    result.unreferencedPages = result.pages - used.count
    return result
  }

  // MARK: Pages

  /// Reads a page of a tree, from level 1 on, into its level's buffer. Named databases use separate levels.
  func page(_ number: UInt64, level: Int, isNested: Bool) throws(DataFileError) -> TreePage {
    let index = level - 1 + (isNested ? TreePage.mostLevels : 0)
    precondition(index >= 0 && index < 2 * TreePage.mostLevels)
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: buffers + index * pageSize, count: pageSize)
    try unsafe read(number, into: buffer)
    return try unsafe TreePage(checking: buffers + index * pageSize, number: number, size: pageSize)
  }

  /// Claims `count` pages from `page`, which must be unclaimed and in the file.
  func take(_ page: UInt64, count: UInt64 = 1, from parent: UInt64) throws(DataFileError) {
    try require(
      page >= 2 && page <= meta.lastPage && count <= meta.lastPage - page + 1, .pageNumber, parent,
      "refers to \(count) page(s) from \(page) on, and the last is \(meta.lastPage)")
    try require(
      page + count <= UInt64(pagesInFile), .truncated, page,
      "page \(parent) refers to it, and the file has \(pagesInFile) pages")
    for number in Int(page)..<Int(page + count) {
      try require(
        used.insert(number), .doubleUse, UInt64(number), "page \(parent) refers to it, and it is used or free already")
    }
  }

  /// Claims a page of the free list, which may lie past the end of the file.
  func takeFree(_ page: UInt64, from parent: UInt64) throws(DataFileError) {
    try require(
      page >= 2 && page <= meta.lastPage, .freeList, parent, "page \(page) is free, and the last is \(meta.lastPage)")
    try require(used.insert(Int(page)), .doubleUse, page, "it is free, and used or free already")
    result.freePages += 1
  }

  private func read(_ page: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(DataFileError) {
    let isRead = try unsafe file.read(buffer, at: Int(page) * pageSize)
    try require(isRead, .truncated, page, "the file became shorter")
  }

  /// A part of a large value.
  fileprivate func read(_ part: Range<Int>, ofValueAt page: UInt64) throws(DataFileError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: part.count)
    let isRead = try file.read(&bytes, at: Int(page) * pageSize + TreePage.headerSize + part.lowerBound)
    try require(isRead, .truncated, page, "the file became shorter")
    return bytes
  }

  /// Claims a large value's pages and checks the first one. Returns the value's beginning, valid until the next call.
  func overflow(
    _ page: UInt64, valueSize: Int, from parent: UInt64, pages: inout UInt64
  ) throws(DataFileError) -> UnsafeRawBufferPointer {
    // Checked before the read: the page must be in the file.
    try require(
      page >= 2 && page <= meta.lastPage && page < UInt64(pagesInFile), .overflow, parent,
      "a value is said to be in page \(page)")
    let count = min(TreePage.headerSize + valueSize, TreePage.headerSize + Self.overflowPrefix)
    let buffer = unsafe UnsafeMutableRawBufferPointer(
      start: buffers + 2 * TreePage.mostLevels * pageSize, count: count)
    try unsafe read(page, into: buffer)
    let first = try OverflowPage(
      checking: unsafe buffer.bytes, number: page, valueSize: valueSize, pageSize: pageSize, from: parent)
    try take(page, count: first.pages, from: parent)
    pages += first.pages
    return unsafe UnsafeRawBufferPointer(rebasing: buffer[TreePage.headerSize...])
  }
}

/// The verification of one tree.
struct TreeWalk {
  enum Role { case freeList, main, named }

  private let walk: DataFileWalk
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

  mutating func run() throws(DataFileError) {
    try record.check(isFreeList: role == .freeList, in: place)
    if !record.isEmpty { try follow(record.root, level: 1, from: place, lower: nil, upper: nil) }
    for (recorded, found, what) in [
      (record.branchPages, branchPages, "branch pages"), (record.leafPages, leafPages, "leaf pages"),
      (record.overflowPages, overflowPages, "overflow pages"), (record.entries, entries, "entries"),
    ] {
      try require(recorded == found, .statistics, place, "\(recorded) \(what) are recorded, and \(found) were found")
    }
    walk.result.branchPages += Int(branchPages)
    walk.result.leafPages += Int(leafPages)
    walk.result.overflowPages += Int(overflowPages)
  }

  /// - Parameters:
  ///   - lower: The lowest allowed key; `nil` for no bound.
  ///   - upper: All keys must be less; `nil` for no bound.
  private mutating func follow(
    _ number: UInt64, level: Int, from parent: UInt64, lower: TreeKey?, upper: TreeKey?
  ) throws(DataFileError) {
    try walk.take(number, from: parent)
    let page = try walk.page(number, level: level, isNested: role == .named)
    let isLeaf = level == Int(record.depth)
    try require(
      page.isLeaf == isLeaf, .pageFlags, number, "not a \(isLeaf ? "leaf" : "branch") page, in level \(level)")
    if isLeaf {
      leafPages += 1
      try readLeaf(page, lower: lower, upper: upper)
    } else {
      branchPages += 1
      try followBranch(page, level: level, lower: lower, upper: upper)
    }
  }

  private mutating func followBranch(
    _ page: TreePage, level: Int, lower: TreeKey?, upper: TreeKey?
  ) throws(DataFileError) {
    // LMDB asserts this except for the free list.
    try require(
      page.count >= (role == .freeList ? 1 : 2), .node, page.number, "a branch page with \(page.count) entries")
    // Check the whole page before its children.
    var total = 0
    var previous: TreeKey?
    for index in 0..<page.count {
      let node = try page.checkedNode(index)
      total += node.paddedSize(dataSize: 0)
      try checkKeySize(node, page, canBeEmpty: index == 0)
      // A branch page's first key is empty: it covers everything below the second.
      if index == 0 { continue }
      try checkOrder(node.key, previous, lower: lower, upper: upper, page)
      previous = node.key
    }
    try page.checkRoom(total)
    for index in 0..<page.count {
      let node = try page.checkedNode(index)
      let next = index + 1 < page.count ? try page.checkedNode(index + 1).key : upper
      try follow(
        node.child, level: level + 1, from: page.number, lower: index == 0 ? lower : node.key, upper: next)
    }
  }

  private mutating func readLeaf(_ page: TreePage, lower: TreeKey?, upper: TreeKey?) throws(DataFileError) {
    try require(page.count >= 1, .node, page.number, "a leaf page without entries")
    var total = 0
    var previous: TreeKey?
    for index in 0..<page.count {
      let node = try page.checkedNode(index)
      try checkKeySize(node, page, canBeEmpty: false)
      // A page's keys are in order, so checking its first and last key against the bounds is enough.
      try checkOrder(
        node.key, previous, lower: index == 0 ? lower : nil, upper: index == page.count - 1 ? upper : nil, page)
      previous = node.key
      try require(
        node.flags == 0 || node.flags == TreePage.Node.bigData || node.flags == TreePage.Node.subData, .unsupported,
        page.number, "entry \(index) has the flags \(node.flags)")
      let inlineSize = node.flags == TreePage.Node.bigData ? 8 : node.dataSize
      guard let data = unsafe node.data(inlineSize) else {
        let detail = "entry \(index) of \(node.dataSize) bytes leaves the page"
        throw .finding(DataFileFinding(.node, page: page.number, detail))
      }
      total += node.paddedSize(dataSize: inlineSize)
      entries += 1
      try unsafe readValue(node, data, index, page)
    }
    try page.checkRoom(total)
  }

  private mutating func readValue(
    _ node: TreePage.Node, _ data: UnsafeRawBufferPointer, _ index: Int, _ page: TreePage
  ) throws(DataFileError) {
    let overflow = node.overflowPage
    var beginning = unsafe data
    if let overflow {
      unsafe beginning = try walk.overflow(
        overflow, valueSize: node.dataSize, from: page.number, pages: &overflowPages)
    }
    let value = unsafe DataFileValue(beginning: beginning, size: node.dataSize)
    switch role {
    case .freeList: try readFreePages(value, at: overflow, key: node.key, page.number)
    case .main where node.flags == TreePage.Node.subData:
      try require(
        node.dataSize == DatabaseRecord.size, .node, page.number,
        "entry \(index) of \(node.dataSize) bytes is a named database")
      var named = TreeWalk(walk, DatabaseRecord(unsafe data.bytes), .named, recordedIn: page.number)
      try named.run()
    case .main: try unsafe walk.visit(node.key.bytes, value)
    case .named:
      try require(
        node.flags != TreePage.Node.subData, .unsupported, page.number, "entry \(index) is a database in a database")
    }
  }

  /// Reads a free list record: the number of pages that a transaction freed, and the pages in descending order.
  private mutating func readFreePages(
    _ value: DataFileValue, at overflow: UInt64?, key: TreeKey, _ page: UInt64
  ) throws(DataFileError) {
    let transaction = key.number
    try require(
      transaction > 0 && transaction <= walk.meta.transactionID && transaction > lastFreeTransaction, .freeList, page,
      "pages freed by transaction \(transaction), after \(lastFreeTransaction)")
    lastFreeTransaction = transaction
    let beginning = unsafe value.beginning.bytes
    let count = value.size >= 8 ? beginning.load(as: UInt64.self) : .max
    try require(
      value.size % 8 == 0 && count < UInt64(value.size / 8), .freeList, page,
      "a record of \(value.size) bytes does not hold its pages")
    var previous = UInt64.max
    var done = 8
    while done < 8 * (Int(count) + 1) {
      let part = min(8 * (Int(count) + 1) - done, walk.pageSize)
      let words = try overflow.map { (first) throws(DataFileError) in
        try walk.read(done..<done + part, ofValueAt: first)
      }
      for offset in stride(from: 0, to: part, by: 8) {
        let free =
          unsafe words?.span.bytes.load(at: offset, as: UInt64.self)
          ?? beginning.load(at: done + offset, as: UInt64.self)
        try require(free < previous, .freeList, page, "free page \(free) is not in order")
        previous = free
        try walk.takeFree(free, from: page)
      }
      done += part
    }
  }

  // MARK: Keys

  private func checkKeySize(_ node: TreePage.Node, _ page: TreePage, canBeEmpty: Bool) throws(DataFileError) {
    let size = node.keyCount
    let isRight = role == .freeList ? size == 8 : size > 0 && size <= TreePage.longestKey
    try require(isRight || canBeEmpty && size == 0, .node, page.number, "a key of \(size) bytes")
  }

  @inline(__always)
  private func checkOrder(
    _ key: TreeKey, _ previous: TreeKey?, lower: TreeKey?, upper: TreeKey?, _ page: TreePage
  ) throws(DataFileError) {
    if let previous { try require(precedes(previous, key), .keyOrder, page.number, "the keys are not in order") }
    if let lower {
      try require(!precedes(key, lower), .keyOrder, page.number, "a key is less than the page above says")
    }
    if let upper {
      try require(precedes(key, upper), .keyOrder, page.number, "a key is greater than the page above says")
    }
  }

  /// LMDB's orders: bytewise, shorter first; by integer in the free list.
  @inline(__always)
  private func precedes(_ first: TreeKey, _ second: TreeKey) -> Bool {
    role == .freeList ? first.number < second.number : first < second
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
@safe package struct DataFileValue {
  /// The whole value, or at least the first 1,024 bytes of one in overflow pages.
  package let beginning: UnsafeRawBufferPointer
  /// Bytes.
  package let size: Int
}
