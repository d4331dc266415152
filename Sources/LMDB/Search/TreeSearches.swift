import CPlatform

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
