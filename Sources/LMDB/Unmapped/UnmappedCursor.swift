import Platform

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
    var layout: PageLayout?
    var index = 0
  }

  /// `CURSOR_STACK`
  private static let maximumDepth = 32
  private static let maximumKeySize = 511
  private static let bigData: UInt16 = 1
  /// `P_OVERFLOW`
  private static let overflow: UInt16 = 4

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
    guard record.flags == 0, record.pad == 0 else {
      throw .finding(
        DataFileFinding(
          .unsupported, page: snapshot.place, "a database has the flags \(record.flags), padding \(record.pad)"))
    }
    guard record.depth <= Self.maximumDepth, (record.depth == 0) == record.isEmpty else {
      throw .finding(
        DataFileFinding(.depth, page: snapshot.place, "a tree of depth \(record.depth) with root \(record.root)"))
    }
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
    branch: (PageLayout) throws(DataFileError) -> Int, leaf: (PageLayout) throws(DataFileError) -> Int
  ) throws(DataFileError) -> Entry? {
    if depth == 0 { return nil }
    lastKey = []
    var (page, parent) = (snapshot.meta.main.root, snapshot.place)
    for level in 0..<depth {
      let layout = try load(page, level, from: parent)
      let index = try level < depth - 1 ? branch(layout) : leaf(layout)
      levels[level].index = index
      if level < depth - 1 { (page, parent) = (try layout.node(index).child, page) }
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

  private func nextLeaf(after leaf: PageLayout) throws(DataFileError) -> PageLayout? {
    lastKey = Array(try leaf.node(leaf.count - 1).key)
    var level = depth - 2
    while level >= 0, let layout = levels[level].layout {
      levels[level].index += 1
      if levels[level].index < layout.count {
        let next = try descend(from: level)
        let first = try next.node(0).key
        let isGreater = lastKey.withUnsafeBytes { $0.precedes(first) }
        guard isGreater else {
          throw .finding(DataFileFinding(.keyOrder, page: next.number, "its keys are not greater than those before it"))
        }
        return next
      }
      level -= 1
    }
    // At the end: further calls return the same.
    levels[depth - 1].index = leaf.count
    return nil
  }

  /// Loads the first pages below a branch page's entry, down to a leaf.
  private func descend(from level: Int) throws(DataFileError) -> PageLayout {
    var layout = levels[level].layout!
    for below in level + 1..<depth {
      layout = try load(layout.node(levels[below - 1].index).child, below, from: layout.number)
      levels[below].index = 0
    }
    return layout
  }

  // MARK: Pages

  private func load(_ page: UInt64, _ level: Int, from parent: UInt64) throws(DataFileError) -> PageLayout {
    if levels[level].page == page, let layout = levels[level].layout { return layout }
    levels[level] = Level()
    let buffer = UnsafeMutableRawBufferPointer(start: buffers + level * snapshot.pageSize, count: snapshot.pageSize)
    try snapshot.read(page, into: buffer, from: parent)
    let layout = try PageLayout(UnsafeRawPointer(buffer.baseAddress!), number: page, size: snapshot.pageSize)
    let isLeaf = level == depth - 1
    guard layout.flags == (isLeaf ? PageLayout.leaf : PageLayout.branch) else {
      throw .finding(DataFileFinding(.pageFlags, page: page, "flags \(layout.flags) in level \(level + 1) of \(depth)"))
    }
    guard layout.count >= (isLeaf ? 1 : 2) else {
      throw .finding(DataFileFinding(.node, page: page, "a page of a tree with \(layout.count) entries"))
    }
    try checkKeys(layout, from: isLeaf ? 0 : 1)
    levels[level] = Level(page: page, layout: layout)
    return layout
  }

  private func checkKeys(_ layout: PageLayout, from first: Int) throws(DataFileError) {
    var previous: UnsafeRawBufferPointer?
    for index in first..<layout.count {
      let key = try layout.node(index).key
      guard 1...Self.maximumKeySize ~= key.count else {
        throw .finding(DataFileFinding(.node, page: layout.number, "a key of \(key.count) bytes"))
      }
      if let previous, !previous.precedes(key) {
        throw .finding(DataFileFinding(.keyOrder, page: layout.number, "the keys are not in order"))
      }
      previous = key
    }
  }

  private func entry(_ layout: PageLayout, _ index: Int) throws(DataFileError) -> Entry {
    let node = try layout.node(index)
    let isBig = node.flags == Self.bigData
    guard isBig || node.flags == 0 else {
      throw .finding(DataFileFinding(.unsupported, page: layout.number, "entry \(index) has the flags \(node.flags)"))
    }
    guard node.fits(dataSize: isBig ? 8 : node.dataSize, in: snapshot.pageSize) else {
      throw .finding(
        DataFileFinding(.node, page: layout.number, "entry \(index) of \(node.dataSize) bytes leaves the page"))
    }
    let value =
      isBig
      ? UnmappedValue(
        self, page: node.data.loadUnaligned(as: UInt64.self), size: node.dataSize, parent: layout.number)
      : UnmappedValue(self, inline: node.data, size: node.dataSize)
    return Entry(key: node.key, value: value)
  }

  /// Reads the first bytes of a value in overflow pages.
  func readOverflow(
    _ page: UInt64, count: Int, size: Int, from parent: UInt64
  ) throws(DataFileError) -> UnsafeRawBufferPointer {
    let total = DataFileWalk.headerSize + count
    // Checked before memory is allocated for it.
    try snapshot.check(page, count: total, from: parent)
    if scratch.count < total {
      scratch.deallocate()
      scratch = .allocate(byteCount: max(total, snapshot.pageSize), alignment: 16)
    }
    let buffer = UnsafeMutableRawBufferPointer(rebasing: scratch[..<total])
    try snapshot.read(page, into: buffer, from: parent)
    let header = UnsafeRawPointer(buffer.baseAddress!)
    let recorded = header.loadUnaligned(as: UInt64.self)
    guard recorded == page else {
      throw .finding(DataFileFinding(.pageNumber, page: page, "the page says it is page \(recorded)"))
    }
    guard header.loadUnaligned(fromByteOffset: 10, as: UInt16.self) == Self.overflow else {
      throw .finding(DataFileFinding(.pageFlags, page: page, "page \(parent) takes it for a large value's"))
    }
    let pages = Int(header.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
    let needed = (DataFileWalk.headerSize - 1 + size) / snapshot.pageSize + 1
    guard pages >= needed else {
      throw .finding(DataFileFinding(.overflow, page: page, "it begins \(pages) pages, and its value needs \(needed)"))
    }
    return UnsafeRawBufferPointer(rebasing: buffer[DataFileWalk.headerSize...])
  }

  // MARK: Keys

  /// The first index, from `start`, where `isBefore` is false.
  private static func partition(
    _ layout: PageLayout, from start: Int, _ isBefore: (UnsafeRawBufferPointer) -> Bool
  ) throws(DataFileError) -> Int {
    var (low, high) = (start, layout.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(try layout.node(middle).key) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
