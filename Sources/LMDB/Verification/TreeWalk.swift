import Platform

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
