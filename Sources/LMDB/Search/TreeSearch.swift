/// One search from the root to a leaf, comparison by comparison, so that several can take turns.
struct TreeSearch {
  /// Deeper than any tree: pages may lead in circles where they are damaged.
  private static let mostLevels = 32

  let hash: UInt64
  /// The page that comes next; 0, which is none of a tree, before the root.
  private var number: UInt64 = 0
  private var page: TreePage?
  /// The entries that are left: the first that is greater than the key is in `first...last`.
  private var first = 0
  private var last = 0
  /// Bytes that the key shares with the nearest lesser and the nearest greater key that it was compared with: all that are
  /// between those share as many.
  private var lower = 0
  private var upper = 0
  private var path: UInt64 = 0
  private var level = 0
  /// Whether the way has too many levels or entries to be kept.
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
    // A branch's first entry leads to all that is less than the second's key.
    first = page.isLeaf ? 0 : 1
    last = page.count
  }

  @inline(__always)
  var isInPage: Bool { first < last }

  @inline(__always)
  private var middle: Int { (first &+ last) >> 1 }

  /// Asks for what the next step compares with.
  @inline(__always)
  func prefetch() { page?.prefetch(middle) }

  /// Compares once. Returns what was found, if that is the end.
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
        // Where pages are not in order the bytes that were passed over may differ.
        guard key.isKey(of: node) else { return .unknown }
        pass(slot)
        if !isLong { tree.keep(path, to: node, of: page, hash) }
        return tree.value(of: node)
      }
      last = first
    }
    return nil
  }

  /// Goes on to the page below, when nothing is left in this one. Returns what was found, if that is the end.
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

  /// The page that comes next.
  @inline(__always)
  var next: UInt64 { number }
}
