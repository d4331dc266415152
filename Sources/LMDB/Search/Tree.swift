import CPlatform

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

  /// LMDB's longest key; it refuses longer ones, and the empty one.
  private static let longestKey = 511
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
  static func isKey(_ key: UnsafeRawBufferPointer) -> Bool { key.count >= 1 && key.count <= longestKey }

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
    // `F_BIGDATA`, `P_OVERFLOW`
    guard node.flags == 1, node.holds(8) else { return .unknown }
    let number = node.data.loadUnaligned(as: UInt64.self)
    guard number < end else { return .unknown }
    let first = map + Int(truncatingIfNeeded: number) &* pageSize
    guard first.load(as: UInt64.self) == number, first.load(fromByteOffset: 10, as: UInt16.self) == 4 else {
      return .unknown
    }
    let pages = UInt64(first.load(fromByteOffset: 12, as: UInt32.self))
    guard pages <= end - number, UInt64(16 + size) <= pages * UInt64(pageSize) else { return .unknown }
    return .value(UnsafeRawBufferPointer(start: first + 16, count: size))
  }
}
