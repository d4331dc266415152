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
