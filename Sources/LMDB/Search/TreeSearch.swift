import CPlatform
import Synchronization

/// The main database's tree in a snapshot, searched directly in the map.
///
/// LMDB's own search waits for memory at every comparison. This one prefetches its candidates and starts with
/// ``PathHints``: most repeated lookups compare no other key. Anything that does not look like a page is left to LMDB.
struct Tree {
  /// The result of a search.
  enum Found {
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
  let control: UnsafeMutablePointer<Control>

  @inline(__always)
  func page(_ number: UInt64) -> TreePage? {
    guard number < end else { return nil }
    return TreePage(map + Int(truncatingIfNeeded: number) &* pageSize, number: number, size: pageSize)
  }

  @inline(__always)
  func find(_ key: UnsafeRawBufferPointer) -> Found {
    guard let base = key.baseAddress, Self.isKey(key) else { return .unknown }
    let hash = PathHints.hash(key)
    let key = TreeKey(base: base, count: key.count)
    if let path = control.pointee.hints.path(hash), let node = follow(path, key) { return value(of: node) }
    return search(key, hash)
  }

  @inline(__always)
  static func isKey(_ key: UnsafeRawBufferPointer) -> Bool { key.count >= 1 && key.count <= TreePage.longestKey }

  /// The entry that a hint leads to, if it has this key.
  @inline(__always)
  private func follow(_ path: UInt64, _ key: TreeKey) -> TreePage.Node? {
    var (number, rest) = (root, path)
    for level in 1...PathHints.levels {
      if level == depth { prefetchEntry(of: number, path) }
      guard let page = page(number) else { return nil }
      let slot = Int(truncatingIfNeeded: rest) & (Self.slotLimit - 1)
      guard slot < page.count, let node = page.node(slot) else { return nil }
      if page.isLeaf { return key.isKey(of: node) ? node : nil }
      (number, rest) = (node.child, rest >> PathHints.slotBits)
    }
    return nil
  }

  /// Prefetches an entry where a hint last saw it, and its record, before the page gives its offset.
  @inline(__always)
  func prefetchEntry(of leaf: UInt64, _ path: UInt64) {
    guard leaf < end else { return }
    let offset = Int(truncatingIfNeeded: path >> PathHints.pathBits) &* (pageSize / PathHints.offsetUnits)
    let entry = map + Int(truncatingIfNeeded: leaf) &* pageSize + offset
    cplatform_prefetch(entry)
    cplatform_prefetch(entry + 64)
    cplatform_prefetch(entry + 128)
    cplatform_prefetch(entry + 192)
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
      number = search.next
    }
    return .unknown
  }

  /// Stores the path of a search to a leaf's entry.
  @inline(__always)
  func keep(_ path: UInt64, to node: TreePage.Node, of leaf: TreePage, _ hash: UInt64) {
    let place = UInt64(truncatingIfNeeded: (node.base - leaf.base) &* PathHints.offsetUnits / pageSize)
    control.pointee.hints.keep(path | place << PathHints.pathBits, hash)
  }

  /// The value of a leaf's entry, in the page or in overflow pages.
  @inline(__always)
  func value(of node: TreePage.Node) -> Found {
    let size = node.dataSize
    if _fastPath(node.flags == 0) {
      guard node.holds(size) else { return .unknown }
      return .value(UnsafeRawBufferPointer(start: node.data, count: size))
    }
    return overflowValue(of: node, size)
  }

  @inline(never)
  private func overflowValue(of node: TreePage.Node, _ size: Int) -> Found {
    guard node.flags == TreePage.Node.bigData, node.holds(8), node.overflowPage < end else { return .unknown }
    let number = node.overflowPage
    let base = map + Int(truncatingIfNeeded: number) &* pageSize
    guard let first = OverflowPage(base, number: number), first.pages <= end - number,
      UInt64(TreePage.headerSize + size) <= first.pages * UInt64(pageSize)
    else { return .unknown }
    return .value(UnsafeRawBufferPointer(start: base + TreePage.headerSize, count: size))
  }
}

extension Tree {
  /// The tree of a snapshot of this process; `nil` while the map's address is unknown.
  @inline(__always)
  init?(of transaction: OpaquePointer, _ control: UnsafeMutablePointer<Control>) {
    guard let map = UnsafeRawPointer(bitPattern: control.pointee.map.load(ordering: .acquiring)),
      let main = control.pointee.metaPages.mainTree(of: Calls.id(transaction))
    else { return nil }
    self.map = map
    root = main.root
    end = min(main.end, control.pointee.mapPages.load(ordering: .relaxed))
    depth = main.depth
    pageSize = control.pointee.metaPages.pageSize
    self.control = control
  }
}

/// A search key, in LMDB's order: bytewise, prefixes first.
struct TreeKey {
  let base: UnsafeRawPointer
  let count: Int

  /// Compares with a key whose first `equal` bytes are known to match. Sets `equal` to the number of matching bytes, in
  /// whole words.
  ///
  /// - Returns: Negative if this key is less, 0 if equal.
  @inline(__always)
  func compare(_ node: TreePage.Node, equal: inout Int) -> Int {
    let other = node.key
    let shared = min(count, node.keyCount)
    while equal &+ 8 <= shared {
      let (mine, its) = (word(base, equal), word(other, equal))
      if mine != its { return mine < its ? -1 : 1 }
      equal &+= 8
    }
    if equal < shared {
      if shared >= 8 {
        // The last word overlaps bytes already compared.
        let (mine, its) = (word(base, shared &- 8), word(other, shared &- 8))
        if mine != its { return mine < its ? -1 : 1 }
      } else {
        for offset in equal..<shared {
          let mine = base.load(fromByteOffset: offset, as: UInt8.self)
          let its = other.load(fromByteOffset: offset, as: UInt8.self)
          if mine != its { return mine < its ? -1 : 1 }
        }
      }
    }
    return count &- node.keyCount
  }

  /// Whether every byte of a page's key matches this one.
  @inline(__always)
  func isKey(of node: TreePage.Node) -> Bool {
    if node.keyCount != count { return false }
    var equal = 0
    return compare(node, equal: &equal) == 0
  }

  @inline(__always)
  private func word(_ base: UnsafeRawPointer, _ offset: Int) -> UInt64 {
    UInt64(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}

/// One search from the root to a leaf, one comparison at a time, so that several can interleave.
struct TreeSearch {
  let hash: UInt64
  /// The next page's number; 0, which no tree has, before the root.
  private var number: UInt64 = 0
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
    let order = key.compare(node, equal: &equal)
    if order < 0 {
      (last, upper) = (slot, equal)
      return nil
    }
    (first, lower) = (slot &+ 1, equal)
    if order == 0 {
      if page.isLeaf {
        // If the page is not in order, the skipped bytes may differ.
        guard key.isKey(of: node) else { return .unknown }
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
    guard first >= 1, first <= page.count, level < TreePage.mostLevels, let node = page.node(first &- 1) else {
      return .unknown
    }
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

  @inline(__always)
  var next: UInt64 { number }
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

  private let tree: Tree
  private let members: UnsafeMutableBufferPointer<Member>

  /// - Parameter members: Uninitialized, one for each key; they need no deinitialization.
  init(
    _ tree: Tree, _ keys: UnsafeBufferPointer<UnsafeRawBufferPointer>,
    _ members: UnsafeMutableBufferPointer<Member>
  ) {
    self.tree = tree
    self.members = members
    for (index, bytes) in keys.enumerated() {
      // Any address will do for an empty key.
      let key = TreeKey(base: bytes.baseAddress ?? tree.map, count: bytes.count)
      let isKey = Tree.isKey(bytes)
      let hash = isKey ? PathHints.hash(bytes) : 0
      var member = Member(key: key, search: TreeSearch(hash), number: tree.root)
      if isKey {
        tree.control.pointee.hints.prefetch(hash)
        member.stage = .hinted
      }
      members.initializeElement(at: index, to: member)
    }
  }

  func run() {
    followHints()
    var left = 0
    for index in members.indices where members[index].stage == .descending {
      prefetchPage(members[index].search.begin(at: tree.root))
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
  private func followHints() {
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
    guard let page = member.page, member.slot < page.count else {
      member.stage = .descending
      return
    }
    page.prefetch(member.slot)
  }

  @inline(__always)
  private func followSlot(_ member: inout Member, at level: Int) {
    guard let page = member.page, let node = page.node(member.slot), !page.isLeaf || member.key.isKey(of: node) else {
      member.stage = .descending
      return
    }
    if page.isLeaf { return end(&member, tree.value(of: node)) }
    member.number = node.child
    member.rest >>= PathHints.slotBits
    prefetchPage(member.number)
    if level &+ 1 == tree.depth { tree.prefetchEntry(of: member.number, member.path) }
  }

  // MARK: Searches

  @inline(__always)
  private func takeTurn(_ member: inout Member) {
    if member.stage == .descending {
      guard let page = tree.page(member.search.next) else { return end(&member, .unknown) }
      member.search.enter(page)
      member.stage = .comparing
    } else if let found = member.search.step(member.key, tree) {
      return end(&member, found)
    }
    if member.search.isInPage { return member.search.prefetch() }
    if let found = member.search.leave() { return end(&member, found) }
    prefetchPage(member.search.next)
    member.stage = .descending
  }

  @inline(__always)
  private func end(_ member: inout Member, _ found: Tree.Found) {
    member.found = found
    member.stage = .done
    // The caller copies it next; the hardware prefetcher continues from its beginning.
    if case .value(let bytes) = found, let base = bytes.baseAddress { cplatform_prefetch(base + min(64, bytes.count)) }
  }

  @inline(__always)
  private func prefetchPage(_ number: UInt64) {
    if number < tree.end { cplatform_prefetch(tree.map + Int(truncatingIfNeeded: number) &* tree.pageSize) }
  }
}
