package import Platform

/// A data file read by pread(2) alone while others may write: without a map, a lock or a reader slot, so that nothing
/// on disk changes and no damage can raise a signal.
///
/// LMDB never overwrites a page of the last committed state or the one before: a transaction uses pages freed before
/// the last one, and the end of the file. A state that was read is therefore consistent if at most one transaction
/// committed since. Otherwise ``read(_:)`` reads again.
///
/// One thread at a time.
package final class UnmappedFile {
  private var file: DataFile
  /// The identity of the open file, even if its name now leads elsewhere.
  package let identity: FileIdentity

  /// The most attempts to read a state that writers keep overtaking.
  private static let greatestAttempts = 10_000
  /// How often the same damage must be found in a state that is still current.
  private static let confirmations = 3

  private init(_ file: consuming DataFile) throws(DataFileError) {
    identity = try file.identity
    self.file = file
  }

  /// Opens a directory's `data.mdb`. Returns `nil` if it is missing or empty; LMDB treats an empty file as new.
  package static func open(_ directory: Directory) throws(DataFileError) -> UnmappedFile? {
    guard let file = try DataFile(in: directory), file.size > 0 else { return nil }
    return try UnmappedFile(file)
  }

  package func lastTransactionID() throws(DataFileError) -> UInt64 { try newestMeta().transactionID }

  /// Runs `body` with the last committed state until the state was still whole when `body` ended; only that run's
  /// result or error counts. `body` should do less work as ``UnmappedSnapshot/attempt`` grows.
  ///
  /// - Throws: The error of `body`; `.unreadable` with `.busy` if others commit faster than the state can be read.
  package func read<R>(_ body: (UnmappedSnapshot) throws(DataFileError) -> R) throws(DataFileError) -> R {
    var attempt = 0
    var last: (failure: DataFileError, count: Int)?
    while true {
      let meta = try newestMeta()
      try file.noteSize()
      let result: Result<R, DataFileError>
      do throws(DataFileError) {
        result = .success(try body(UnmappedSnapshot(self, meta, size: file.size, attempt: attempt)))
      } catch {
        result = .failure(error)
      }
      attempt += 1
      if try isStillWhole(meta) {
        guard case .failure(let failure) = result else { return try result.get() }
        last = (failure, failure == last?.failure ? last!.count + 1 : 1)
        if last!.count >= Self.confirmations { throw failure }
      }
      if attempt >= Self.greatestAttempts { throw Self.tooFast }
    }
  }

  private static var tooFast: DataFileError {
    .unreadable(
      LMDBError(
        code: .busy, operation: "UnmappedFile.read",
        message: "Other processes commit faster than the file can be read. Try again when they write less."))
  }

  // MARK: - The state

  private func newestMeta() throws(DataFileError) -> MetaPage {
    try DataFileVerifier.settled { () throws(DataFileError) in
      try file.noteSize()
      return try DataFileVerifier.newestMeta(of: file)
    }
  }

  /// Whether no page of a state can have been overwritten: at most one transaction committed since, and the next but
  /// one has not begun to write its meta page, which is this state's.
  private func isStillWhole(_ meta: MetaPage) throws(DataFileError) -> Bool {
    let newest = try newestMeta()
    if newest.transactionID > meta.transactionID + 1 || newest.transactionID < meta.transactionID { return false }
    if newest.transactionID == meta.transactionID { return newest == meta }
    return try file.meta(meta.number, at: Int(meta.number) * Int(meta.pageSize)) == meta
  }

  // MARK: - Pages

  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int, page: UInt64) throws(DataFileError) {
    try require(try file.read(buffer, at: offset), .truncated, page, "the file became shorter")
  }
}

/// A committed state of an ``UnmappedFile``, lent to the body of ``UnmappedFile/read(_:)``.
///
/// Only the values that `read` returns are known to belong to one state.
package struct UnmappedSnapshot {
  let file: UnmappedFile
  let meta: MetaPage
  let pageSize: Int
  private let pagesInFile: Int
  /// The number of earlier runs that came too late.
  package let attempt: Int

  init(_ file: UnmappedFile, _ meta: MetaPage, size: Int, attempt: Int) {
    self.file = file
    self.meta = meta
    self.attempt = attempt
    pageSize = Int(meta.pageSize)
    pagesInFile = size / pageSize
  }

  package var identity: FileIdentity { file.identity }

  package var transactionID: UInt64 { meta.transactionID }

  /// The state's figures as LMDB recorded them.
  package var figures: DataFileFigures {
    DataFileFigures(
      transactionID: meta.transactionID, pageSize: pageSize, pages: Int(meta.lastPage) + 1, mapSize: Int(meta.mapSize),
      depth: Int(meta.main.depth), branchPages: Int(clamping: meta.main.branchPages),
      leafPages: Int(clamping: meta.main.leafPages), overflowPages: Int(clamping: meta.main.overflowPages),
      entries: Int(clamping: meta.main.entries))
  }

  /// The number of the meta page that records this state.
  var place: UInt64 { meta.number }

  /// Fills `buffer` with one page or several adjacent pages that `parent` refers to.
  func read(
    _ page: UInt64, into buffer: UnsafeMutableRawBufferPointer, from parent: UInt64
  ) throws(DataFileError) {
    try check(page, count: buffer.count, from: parent)
    try file.read(buffer, at: Int(page) * pageSize, page: page)
  }

  /// Throws if fewer than `count` bytes follow from a page.
  func check(_ page: UInt64, count: Int, from parent: UInt64) throws(DataFileError) {
    let (end, overflow) = page.addingReportingOverflow(UInt64((count + pageSize - 1) / pageSize))
    try require(
      page >= 2 && !overflow && end <= meta.lastPage + 1, .pageNumber, parent,
      "refers to page \(page), and the last is \(meta.lastPage)")
    try require(
      end <= UInt64(pagesInFile), .truncated, page,
      "page \(parent) refers to it, and the file has \(pagesInFile) pages")
  }
}

/// LMDB's recorded figures of a committed state.
package struct DataFileFigures: Sendable, Equatable {
  package let transactionID: UInt64
  /// Bytes.
  package let pageSize: Int
  /// Pages taken by the database so far, including free ones.
  package let pages: Int
  /// Address space reserved by the last writer, in bytes.
  package let mapSize: Int
  /// Levels of the main database's tree. The properties below describe the same tree.
  package let depth: Int
  package let branchPages: Int
  package let leafPages: Int
  package let overflowPages: Int
  package let entries: Int

  /// The tree's size in bytes.
  package var usedBytes: Int {
    Self.bytes(of: branchPages, leafPages, overflowPages, pageSize: pageSize)
  }

  /// The file's numbers are untrusted: any that are not negative.
  static func bytes(of branchPages: Int, _ leafPages: Int, _ overflowPages: Int, pageSize: Int) -> Int {
    branchPages.addingClamped(leafPages).addingClamped(overflowPages).multipliedClamped(by: pageSize)
  }
}

/// A position in the main database of an ``UnmappedSnapshot``, in bytewise key order.
///
/// Every number in a page is checked, and keys must increase, so iteration ends for any contents. Memory: one page per
/// tree level, plus the largest value read.
package final class UnmappedCursor {
  /// The current entry. The key is valid until the cursor moves.
  package struct Entry {
    package let key: UnsafeRawBufferPointer
    package let value: UnmappedValue
  }

  private struct Level {
    /// 0 if no page is loaded.
    var page: UInt64 = 0
    var layout: TreePage?
    var index = 0
  }

  private let snapshot: UnmappedSnapshot
  private let depth: Int
  /// Ordered from the root.
  private var levels: [Level]
  /// One page for each level.
  private let buffers: UnsafeMutableRawPointer
  /// For values in overflow pages.
  private var scratch = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// The last key of the previous leaf.
  private var lastKey: [UInt8] = []

  package init(_ snapshot: UnmappedSnapshot) throws(DataFileError) {
    let record = snapshot.meta.main
    try record.check(in: snapshot.place)
    self.snapshot = snapshot
    depth = Int(record.depth)
    levels = Array(repeating: Level(), count: depth)
    buffers = .allocate(byteCount: max(1, depth * snapshot.pageSize), alignment: 4096)
  }

  deinit {
    buffers.deallocate()
    scratch.deallocate()
  }

  // MARK: Moving

  /// Moves to the smallest key.
  package func first() throws(DataFileError) -> Entry? {
    try seek { _ in
      0
    } leaf: { _ in
      0
    }
  }

  /// Moves to the smallest key not less than `key`.
  package func seek(toKeyAtOrAfter key: UnsafeRawBufferPointer) throws(DataFileError) -> Entry? {
    try seek { (layout) throws(DataFileError) in
      // The last key not greater. A branch page's first entry has no key and sorts before all.
      try Self.partition(layout, from: 1) { !key.precedes($0) } - 1
    } leaf: { (layout) throws(DataFileError) in
      try Self.partition(layout, from: 0) { $0.precedes(key) }
    }
  }

  package func find(_ key: UnsafeRawBufferPointer) throws(DataFileError) -> UnmappedValue? {
    guard let entry = try seek(toKeyAtOrAfter: key), entry.key.count == key.count,
      !key.precedes(entry.key)
    else { return nil }
    return entry.value
  }

  /// Moves to the next key. The cursor must have a position.
  package func next() throws(DataFileError) -> Entry? {
    if depth == 0 { return nil }
    levels[depth - 1].index += 1
    return try current()
  }

  private func seek(
    branch: (TreePage) throws(DataFileError) -> Int, leaf: (TreePage) throws(DataFileError) -> Int
  ) throws(DataFileError) -> Entry? {
    if depth == 0 { return nil }
    lastKey = []
    var (page, parent) = (snapshot.meta.main.root, snapshot.place)
    for level in 0..<depth {
      let layout = try load(page, level, from: parent)
      let index = try level < depth - 1 ? branch(layout) : leaf(layout)
      levels[level].index = index
      if level < depth - 1 { (page, parent) = (try layout.checkedNode(index).child, page) }
    }
    return try current()
  }

  /// The entry at the leaf's index, or the next leaf's first entry.
  private func current() throws(DataFileError) -> Entry? {
    guard let layout = levels[depth - 1].layout else { return nil }
    if levels[depth - 1].index < layout.count { return try entry(layout, levels[depth - 1].index) }
    guard let next = try nextLeaf(after: layout) else { return nil }
    return try entry(next, 0)
  }

  private func nextLeaf(after leaf: TreePage) throws(DataFileError) -> TreePage? {
    lastKey = Array(try leaf.checkedNode(leaf.count - 1).keyBytes)
    var level = depth - 2
    while level >= 0, let layout = levels[level].layout {
      levels[level].index += 1
      if levels[level].index < layout.count {
        let next = try descend(from: level)
        let first = try next.checkedNode(0).keyBytes
        let isGreater = lastKey.withUnsafeBytes { $0.precedes(first) }
        try require(isGreater, .keyOrder, next.number, "its keys are not greater than those before it")
        return next
      }
      level -= 1
    }
    // At the end: further calls return the same.
    levels[depth - 1].index = leaf.count
    return nil
  }

  /// Loads the first pages below a branch page's entry, down to a leaf.
  private func descend(from level: Int) throws(DataFileError) -> TreePage {
    var layout = levels[level].layout!
    for below in level + 1..<depth {
      layout = try load(layout.checkedNode(levels[below - 1].index).child, below, from: layout.number)
      levels[below].index = 0
    }
    return layout
  }

  // MARK: Pages

  private func load(_ page: UInt64, _ level: Int, from parent: UInt64) throws(DataFileError) -> TreePage {
    if levels[level].page == page, let layout = levels[level].layout { return layout }
    levels[level] = Level()
    let buffer = UnsafeMutableRawBufferPointer(start: buffers + level * snapshot.pageSize, count: snapshot.pageSize)
    try snapshot.read(page, into: buffer, from: parent)
    let layout = try TreePage(checking: buffer.baseAddress!, number: page, size: snapshot.pageSize)
    let isLeaf = level == depth - 1
    try require(layout.isLeaf == isLeaf, .pageFlags, page, "not the kind of page that level \(level + 1) has")
    try require(layout.count >= (isLeaf ? 1 : 2), .node, page, "a page of a tree with \(layout.count) entries")
    try checkKeys(layout, from: isLeaf ? 0 : 1)
    levels[level] = Level(page: page, layout: layout)
    return layout
  }

  private func checkKeys(_ layout: TreePage, from first: Int) throws(DataFileError) {
    var previous: UnsafeRawBufferPointer?
    for index in first..<layout.count {
      let key = try layout.checkedNode(index).keyBytes
      try require(1...TreePage.longestKey ~= key.count, .node, layout.number, "a key of \(key.count) bytes")
      try require(previous?.precedes(key) != false, .keyOrder, layout.number, "the keys are not in order")
      previous = key
    }
  }

  private func entry(_ layout: TreePage, _ index: Int) throws(DataFileError) -> Entry {
    let node = try layout.checkedNode(index)
    let isBig = node.flags == TreePage.Node.bigData
    try require(
      isBig || node.flags == 0, .unsupported, layout.number, "entry \(index) has the flags \(node.flags)")
    try require(
      node.holds(isBig ? 8 : node.dataSize), .node, layout.number,
      "entry \(index) of \(node.dataSize) bytes leaves the page")
    let value =
      isBig
      ? UnmappedValue(
        self, page: node.overflowPage, size: node.dataSize, parent: layout.number)
      : UnmappedValue(self, inline: node.data, size: node.dataSize)
    return Entry(key: node.keyBytes, value: value)
  }

  /// Reads the first bytes of a value in overflow pages.
  func readOverflow(
    _ page: UInt64, count: Int, size: Int, from parent: UInt64
  ) throws(DataFileError) -> UnsafeRawBufferPointer {
    let total = TreePage.headerSize + count
    // Checked before memory is allocated for it.
    try snapshot.check(page, count: total, from: parent)
    if scratch.count < total {
      scratch.deallocate()
      scratch = .allocate(byteCount: max(total, snapshot.pageSize), alignment: 16)
    }
    let buffer = UnsafeMutableRawBufferPointer(rebasing: scratch[..<total])
    try snapshot.read(page, into: buffer, from: parent)
    _ = try OverflowPage(
      checking: buffer.baseAddress!, number: page, valueSize: size, pageSize: snapshot.pageSize, from: parent)
    return UnsafeRawBufferPointer(rebasing: buffer[TreePage.headerSize...])
  }

  // MARK: Keys

  /// The first index, from `start`, where `isBefore` is false.
  private static func partition(
    _ layout: TreePage, from start: Int, _ isBefore: (UnsafeRawBufferPointer) -> Bool
  ) throws(DataFileError) -> Int {
    var (low, high) = (start, layout.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(try layout.checkedNode(middle).keyBytes) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// The value at an ``UnmappedCursor``. Its bytes are valid until the cursor moves or more of a value is read.
package struct UnmappedValue {
  /// Bytes.
  package let size: Int
  private let cursor: UnmappedCursor
  /// The whole value, if it is in the leaf.
  private let inline: UnsafeRawPointer?
  /// The value's first overflow page, if any, and the page that refers to it.
  private let page: UInt64
  private let parent: UInt64

  init(_ cursor: UnmappedCursor, inline: UnsafeRawPointer, size: Int) {
    self.cursor = cursor
    self.inline = inline
    self.size = size
    (page, parent) = (0, 0)
  }

  init(_ cursor: UnmappedCursor, page: UInt64, size: Int, parent: UInt64) {
    self.cursor = cursor
    self.page = page
    self.parent = parent
    self.size = size
    inline = nil
  }

  /// The first bytes: at least `count`, if the value has that many.
  package func beginning(_ count: Int) throws(DataFileError) -> UnsafeRawBufferPointer {
    if let inline { return UnsafeRawBufferPointer(start: inline, count: size) }
    return try cursor.readOverflow(page, count: min(max(0, count), size), size: size, from: parent)
  }

  package func bytes() throws(DataFileError) -> UnsafeRawBufferPointer { try beginning(size) }
}
