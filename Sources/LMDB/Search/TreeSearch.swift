import CPlatform
import Synchronization

/// The main database's tree in a snapshot, searched directly in the map.
///
/// LMDB's own search waits for memory at every comparison. This one prefetches its candidates and starts with
/// ``PathHints``: most repeated lookups compare no other key. Anything that does not look like a page is left to LMDB.
// @safe: the snapshot outlives it and keeps the pages, whose numbers are below `end`, in place.
@safe struct Tree {
  /// The result of a search.
  @safe enum Found {
    case value(UnsafeRawBufferPointer)
    case absent
    /// LMDB must search instead.
    case unknown
  }

  private static let slotLimit = 1 << Int(PathHints.slotBits)

  /// The address of page 0.
  let map: UnsafeRawPointer
  let root: UInt64
  /// The snapshot's pages have lower numbers and are in the map.
  let end: UInt64
  /// The number of levels, for prefetching only.
  let depth: Int
  let pageSize: Int
  /// The owner of ``Control/hints``. It outlives the snapshot.
  let control: ControlReference

  /// - Parameter number: Less than `end`.
  @inline(__always)
  private func address(of number: UInt64) -> UnsafeRawPointer {
    unsafe map + Int(truncatingIfNeeded: number) &* pageSize
  }

  @inline(__always)
  func page(_ number: UInt64) -> TreePage? {
    guard number < end else { return nil }
    return unsafe TreePage(address(of: number), number: number, size: pageSize)
  }

  @inline(__always)
  func find(_ key: UnsafeRawBufferPointer) -> Found {
    let key = unsafe TreeKey(key)
    guard key.isValid else { return .unknown }
    let hash = key.hash
    if let path = control.pointee.hints.path(hash), let node = follow(path, key) { return value(of: node) }
    return search(key, hash)
  }

  /// The entry that a hint leads to, if it has this key.
  @inline(__always)
  private func follow(_ path: UInt64, _ key: TreeKey) -> TreePage.Node? {
    var (number, rest) = (root, path)
    for level in 1...PathHints.levels {
      if level == depth { prefetchEntry(of: number, path) }
      guard let page = page(number) else { return nil }
      let slot = Int(truncatingIfNeeded: rest) & (Self.slotLimit - 1)
      guard let node = page.node(slot) else { return nil }
      if page.isLeaf { return key == node.key ? node : nil }
      (number, rest) = (node.child, rest >> PathHints.slotBits)
    }
    return nil
  }

  /// Prefetches an entry where a hint last saw it, and its record, before the page gives its offset.
  @inline(__always)
  func prefetchEntry(of leaf: UInt64, _ path: UInt64) {
    let offset = Int(truncatingIfNeeded: path >> PathHints.pathBits) &* (pageSize / PathHints.offsetUnits)
    for line in 0..<4 { prefetchPage(leaf, offset: offset + 64 * line) }
  }

  @inline(__always)
  func prefetchPage(_ number: UInt64, offset: Int = 0) {
    if number < end { unsafe cplatform_prefetch(address(of: number) + offset) }
  }

  @inline(never)
  private func search(_ key: TreeKey, _ hash: UInt64) -> Found {
    var search = TreeSearch(hash)
    var number = search.begin(at: root)
    while let page = page(number) {
      page.prefetchMiddles()
      search.enter(page)
      while search.isInPage {
        if let found = search.step(key, self) { return found }
      }
      if let found = search.leave() { return found }
      number = search.number
    }
    return .unknown
  }

  /// Stores the path of a search to a leaf's entry.
  @inline(__always)
  func keep(_ path: UInt64, to node: TreePage.Node, of leaf: TreePage, _ hash: UInt64) {
    let place = UInt64(truncatingIfNeeded: leaf.offset(of: node) &* PathHints.offsetUnits / pageSize)
    control.pointee.hints.keep(path | place << PathHints.pathBits, hash)
  }

  /// The value of a leaf's entry, in the page or in overflow pages.
  @inline(__always)
  func value(of node: TreePage.Node) -> Found {
    let size = node.dataSize
    if _fastPath(node.flags == 0) {
      return unsafe node.data(size).map { unsafe .value($0) } ?? .unknown
    }
    return overflowValue(of: node, size)
  }

  @inline(never)
  private func overflowValue(of node: TreePage.Node, _ size: Int) -> Found {
    guard let number = node.overflowPage, number < end else { return .unknown }
    let page = unsafe UnsafeRawBufferPointer(start: address(of: number), count: pageSize)
    guard let first = OverflowPage(unsafe page.bytes, number: number), first.pages <= end - number,
      UInt64(TreePage.headerSize + size) <= first.pages * UInt64(pageSize)
    else { return .unknown }
    return unsafe .value(UnsafeRawBufferPointer(start: address(of: number) + TreePage.headerSize, count: size))
  }
}

extension Tree {
  /// The tree of a snapshot of this process; `nil` while the map's address is unknown.
  @inline(__always)
  init?(of transaction: TransactionHandle, _ control: ControlReference) {
    guard let map = unsafe UnsafeRawPointer(bitPattern: control.pointee.map.load(ordering: .acquiring)),
      let main = control.pointee.metaPages.mainTree(of: transaction.id)
    else { return nil }
    unsafe self.map = map
    root = main.root
    end = min(main.end, control.pointee.mapPages.load(ordering: .relaxed))
    depth = main.depth
    pageSize = control.pointee.metaPages.pageSize
    self.control = control
  }
}

/// A key of a page, or one to search for, in LMDB's order: bytewise, prefixes first.
// @safe: reads stay within its bytes. They belong to a page or to the caller of a search, which outlive it.
@safe struct TreeKey: Comparable {
  private let base: UnsafeRawPointer
  let count: Int

  @inline(__always)
  init(_ base: UnsafeRawPointer, count: Int) {
    unsafe self.base = base
    self.count = count
  }

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    // Any address will do for an empty key.
    unsafe self.init(bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped, count: bytes.count)
  }

  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  @inline(__always)
  var isValid: Bool { count >= 1 && count <= TreePage.longestKey }

  /// The key of the free list's database.
  var number: UInt64 { count == 8 ? load(0, as: UInt64.self) : 0 }

  /// A cheap hash: a collision costs time only.
  @inline(__always)
  var hash: UInt64 {
    var hash = UInt64(truncatingIfNeeded: count) &* 0x9E37_79B9_7F4A_7C15
    if count < 8 {
      if count == 0 { return hash }
      var word: UInt64 = 0
      for offset in 0..<count { word = word << 8 | UInt64(load(offset, as: UInt8.self)) }
      return Self.fold(hash ^ word, 0xA076_1D64_78BD_642F)
    }
    var offset = 0
    while offset &+ 8 < count {
      hash = Self.fold(hash ^ load(offset, as: UInt64.self), 0xA076_1D64_78BD_642F)
      offset &+= 8
    }
    // The last word overlaps the previous one.
    return Self.fold(hash ^ load(count &- 8, as: UInt64.self), 0xE703_7ED1_A0B4_28DB)
  }

  @inline(__always)
  private static func fold(_ first: UInt64, _ second: UInt64) -> UInt64 {
    let product = first.multipliedFullWidth(by: second)
    return product.high ^ product.low
  }

  /// Compares with a key whose first `equal` bytes are known to match. Sets `equal` to the number of matching bytes, in
  /// whole words.
  ///
  /// - Returns: Negative if this key is less, 0 if equal.
  @inline(__always)
  func compare(_ other: TreeKey, equal: inout Int) -> Int {
    let shared = min(count, other.count)
    while equal &+ 8 <= shared {
      let (mine, its) = (word(equal), other.word(equal))
      if mine != its { return mine < its ? -1 : 1 }
      equal &+= 8
    }
    if equal < shared {
      if shared >= 8 {
        // The last word overlaps bytes already compared.
        let (mine, its) = (word(shared &- 8), other.word(shared &- 8))
        if mine != its { return mine < its ? -1 : 1 }
      } else {
        for offset in equal..<shared {
          let (mine, its) = (load(offset, as: UInt8.self), other.load(offset, as: UInt8.self))
          if mine != its { return mine < its ? -1 : 1 }
        }
      }
    }
    return count &- other.count
  }

  @inline(__always)
  static func == (first: TreeKey, second: TreeKey) -> Bool {
    if first.count != second.count { return false }
    var equal = 0
    return first.compare(second, equal: &equal) == 0
  }

  static func < (first: TreeKey, second: TreeKey) -> Bool {
    var equal = 0
    return first.compare(second, equal: &equal) < 0
  }

  @inline(__always)
  private func word(_ offset: Int) -> UInt64 { UInt64(bigEndian: load(offset, as: UInt64.self)) }

  /// Requires that the bytes are in the key.
  @inline(__always)
  private func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: T.Type) -> T {
    unsafe base.loadUnaligned(fromByteOffset: offset, as: type)
  }
}

/// One search from the root to a leaf, one comparison at a time, so that several can interleave.
struct TreeSearch {
  let hash: UInt64
  /// The next page's number; 0, which no tree has, before the root.
  private(set) var number: UInt64 = 0
  private var page: TreePage?
  /// The remaining range: the first entry greater than the key is in `first...last`.
  private var first = 0
  private var last = 0
  /// Bytes shared with the nearest lesser and nearest greater key compared so far. All keys between them share at least
  /// the smaller count.
  private var lower = 0
  private var upper = 0
  private var path: UInt64 = 0
  private var level = 0
  /// Whether the path has too many levels or entries for a hint.
  private var isLong = false

  @inline(__always)
  init(_ hash: UInt64) { self.hash = hash }

  @inline(__always)
  mutating func begin(at root: UInt64) -> UInt64 {
    if level == 0 { number = root }
    return number
  }

  @inline(__always)
  mutating func enter(_ page: TreePage) {
    self.page = page
    // A branch's first entry covers everything below the second's key.
    first = page.isLeaf ? 0 : 1
    last = page.count
  }

  @inline(__always)
  var isInPage: Bool { first < last }

  @inline(__always)
  private var middle: Int { (first &+ last) >> 1 }

  /// Prefetches the key for the next step.
  @inline(__always)
  func prefetch() { page?.prefetch(middle) }

  /// Compares once. Returns the result if the search is over.
  @inline(__always)
  mutating func step(_ key: TreeKey, _ tree: Tree) -> Tree.Found? {
    let slot = middle
    guard let page, let node = page.node(slot) else { return .unknown }
    var equal = min(lower, upper)
    let order = key.compare(node.key, equal: &equal)
    if order < 0 {
      (last, upper) = (slot, equal)
      return nil
    }
    (first, lower) = (slot &+ 1, equal)
    if order == 0 {
      if page.isLeaf {
        // If the page is not in order, the skipped bytes may differ.
        guard key == node.key else { return .unknown }
        pass(slot)
        if !isLong { tree.keep(path, to: node, of: page, hash) }
        return tree.value(of: node)
      }
      last = first
    }
    return nil
  }

  /// Moves to the child page when the range is empty. Returns the result if the search is over.
  @inline(__always)
  mutating func leave() -> Tree.Found? {
    guard let page else { return .unknown }
    if page.isLeaf { return .absent }
    guard level < TreePage.mostLevels, let node = page.node(first &- 1) else { return .unknown }
    pass(first &- 1)
    number = node.child
    return nil
  }

  @inline(__always)
  private mutating func pass(_ slot: Int) {
    if level >= PathHints.levels || slot >> Int(PathHints.slotBits) != 0 {
      isLong = true
    } else {
      path |= UInt64(slot) << (PathHints.slotBits &* UInt64(level))
    }
    level &+= 1
  }
}

/// Interleaved searches: each prefetches its next memory and yields to the others.
struct TreeSearches {
  struct Member {
    let key: TreeKey
    var search: TreeSearch
    var found = Tree.Found.unknown
    var stage = Stage.done
    /// The page a hint has led to, the hint, and its remaining slots.
    var number: UInt64
    var path: UInt64 = 0
    var rest: UInt64 = 0
    var page: TreePage?
    var slot = 0
  }

  enum Stage {
    /// Following a hint.
    case hinted
    /// The next page was prefetched.
    case descending
    /// The middle entry was prefetched.
    case comparing
    case done
  }

  let tree: Tree

  /// Calls `found` with the result for each key.
  func run(_ keys: Span<UnsafeRawBufferPointer>, found: (Int, Tree.Found) -> Void) {
    unsafe withUnsafeTemporaryAllocation(of: Member.self, capacity: keys.count) { memory in
      // They need no deinitialization.
      for index in unsafe keys.indices { unsafe memory.initializeElement(at: index, to: member(TreeKey(keys[index]))) }
      var members = unsafe memory.mutableSpan
      run(&members)
      for index in members.indices { found(index, members[index].found) }
    }
  }

  /// A member for a key, whose hint it prefetches.
  private func member(_ key: TreeKey) -> Member {
    let hash = key.isValid ? key.hash : 0
    var member = Member(key: key, search: TreeSearch(hash), number: tree.root)
    if key.isValid {
      tree.control.pointee.hints.prefetch(hash)
      member.stage = .hinted
    }
    return member
  }

  private func run(_ members: inout MutableSpan<Member>) {
    followHints(&members)
    var left = 0
    for index in members.indices where members[index].stage == .descending {
      tree.prefetchPage(members[index].search.begin(at: tree.root))
      left += 1
    }
    while left > 0 {
      for index in members.indices where members[index].stage != .done {
        takeTurn(&members[index])
        if members[index].stage == .done { left -= 1 }
      }
    }
  }

  // MARK: Hints

  /// Follows all hints level by level. Members whose hint fails, or that have none, start a search.
  private func followHints(_ members: inout MutableSpan<Member>) {
    for index in members.indices where members[index].stage == .hinted {
      if let path = tree.control.pointee.hints.path(members[index].search.hash) {
        (members[index].path, members[index].rest) = (path, path)
      } else {
        members[index].stage = .descending
      }
    }
    for level in 1...PathHints.levels {
      for index in members.indices where members[index].stage == .hinted { findSlot(&members[index]) }
      for index in members.indices where members[index].stage == .hinted { followSlot(&members[index], at: level) }
    }
    // Deeper than hints reach.
    for index in members.indices where members[index].stage == .hinted { members[index].stage = .descending }
  }

  @inline(__always)
  private func findSlot(_ member: inout Member) {
    member.slot = Int(truncatingIfNeeded: member.rest & (1 << PathHints.slotBits - 1))
    member.page = tree.page(member.number)
    if let page = member.page { page.prefetch(member.slot) } else { member.stage = .descending }
  }

  @inline(__always)
  private func followSlot(_ member: inout Member, at level: Int) {
    guard let page = member.page, let node = page.node(member.slot), !page.isLeaf || member.key == node.key else {
      member.stage = .descending
      return
    }
    if page.isLeaf { return end(&member, tree.value(of: node)) }
    member.number = node.child
    member.rest >>= PathHints.slotBits
    tree.prefetchPage(member.number)
    if level &+ 1 == tree.depth { tree.prefetchEntry(of: member.number, member.path) }
  }

  // MARK: Searches

  @inline(__always)
  private func takeTurn(_ member: inout Member) {
    if member.stage == .descending {
      guard let page = tree.page(member.search.number) else { return end(&member, .unknown) }
      member.search.enter(page)
      member.stage = .comparing
    } else if let found = member.search.step(member.key, tree) {
      return end(&member, found)
    }
    if member.search.isInPage { return member.search.prefetch() }
    if let found = member.search.leave() { return end(&member, found) }
    tree.prefetchPage(member.search.number)
    member.stage = .descending
  }

  @inline(__always)
  private func end(_ member: inout Member, _ found: Tree.Found) {
    member.found = found
    member.stage = .done
    // The caller copies it next; the hardware prefetcher continues from its beginning.
    if case .value(let bytes) = found, let base = bytes.baseAddress {
      unsafe cplatform_prefetch(base + min(64, bytes.count))
    }
  }
}
