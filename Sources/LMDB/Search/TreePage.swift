import CPlatform

/// A tree page in the map. Nothing that would lead out of the page is trusted.
struct TreePage {
  private static let headerSize = 16
  private static let nodeHeaderSize = 8
  /// `P_BRANCH`, `P_LEAF`
  private static let branch: UInt16 = 1
  private static let leaf: UInt16 = 2

  let base: UnsafeRawPointer
  let isLeaf: Bool
  let count: Int
  private let size: Int

  /// Returns `nil` if this cannot be a tree page.
  @inline(__always)
  init?(_ base: UnsafeRawPointer, number: UInt64, size: Int) {
    let flags = base.load(fromByteOffset: 10, as: UInt16.self)
    let lower = Int(base.load(fromByteOffset: 12, as: UInt16.self))
    guard base.load(as: UInt64.self) == number, flags == Self.leaf || flags == Self.branch, lower >= Self.headerSize,
      lower <= size
    else { return nil }
    self.base = base
    self.size = size
    isLeaf = flags == Self.leaf
    count = (lower &- Self.headerSize) >> 1
  }

  struct Node {
    let base: UnsafeRawPointer
    let keyCount: Int
    /// Bytes from the end of the key to the end of the page.
    fileprivate let room: Int

    @inline(__always)
    var key: UnsafeRawPointer { base + TreePage.nodeHeaderSize }

    /// Leaf only: the bytes after the key.
    @inline(__always)
    var data: UnsafeRawPointer { base + TreePage.nodeHeaderSize + keyCount }

    @inline(__always)
    var flags: UInt16 { base.load(fromByteOffset: 4, as: UInt16.self) }

    /// Leaf only: the value's size in bytes, inline or not. Nodes are at even addresses only.
    @inline(__always)
    var dataSize: Int { Int(base.loadUnaligned(as: UInt32.self)) }

    /// Branch only: the child's page number, 48 bits.
    @inline(__always)
    var child: UInt64 { UInt64(base.loadUnaligned(as: UInt32.self)) | UInt64(flags) << 32 }

    @inline(__always)
    func holds(_ count: Int) -> Bool { count <= room }
  }

  @inline(__always)
  private func offset(_ slot: Int) -> Int {
    Int(base.load(fromByteOffset: Self.headerSize &+ 2 &* slot, as: UInt16.self))
  }

  /// - Parameter slot: Less than `count`.
  @inline(__always)
  func node(_ slot: Int) -> Node? {
    let offset = offset(slot)
    guard offset & 1 == 0, offset &+ Self.nodeHeaderSize <= size else { return nil }
    let node = base + offset
    let keyCount = Int(node.load(fromByteOffset: 6, as: UInt16.self))
    let room = size &- offset &- Self.nodeHeaderSize &- keyCount
    guard room >= 0 else { return nil }
    return Node(base: node, keyCount: keyCount, room: room)
  }

  @inline(__always)
  func prefetch(_ slot: Int) { cplatform_prefetch(base + offset(slot)) }

  /// Prefetches the seven entries that the first three steps of a binary search may compare with.
  @inline(__always)
  func prefetchMiddles() {
    guard count >= 8 else { return }
    for eighth in 1..<8 { prefetch(count &* eighth >> 3) }
  }
}
