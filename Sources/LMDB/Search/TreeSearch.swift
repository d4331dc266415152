/// One search from the root to a leaf, one comparison at a time, so that several can interleave.
struct TreeSearch {
  /// Deeper than any tree: damaged pages may form cycles.
  private static let mostLevels = 32

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
    guard first >= 1, first <= page.count, level < Self.mostLevels, let node = page.node(first &- 1) else {
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
