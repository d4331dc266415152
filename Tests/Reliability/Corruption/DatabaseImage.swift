import Foundation
import TestSupport

/// The bytes of a database file, with its pages classified.
struct DatabaseImage {
  enum PageKind: String, CaseIterable { case meta, branch, leaf, overflow, freeList, other }

  static let pageSize = 4096
  let bytes: [UInt8]
  private(set) var pages: [PageKind: [Int]] = [:]
  /// Leaves whose older version is still in a free page, with that page.
  private(set) var rewrittenLeaves: [(leaf: Int, older: Int)] = []

  init(_ url: URL) throws {
    bytes = [UInt8](try Data(contentsOf: url))
    pages[.meta] = [0, 1]
    let first: UInt64 = word(144)
    let second: UInt64 = word(Self.pageSize + 144)
    let meta = first < second ? Self.pageSize : 0
    var seen: Set<Int> = [0, 1]
    collect(word(meta + 88 + 40), isFreeList: false, &seen)
    collect(word(meta + 40 + 40), isFreeList: true, &seen)
    pages[.other] = (0..<bytes.count / Self.pageSize).filter { !seen.contains($0) }
    findRewrittenLeaves()
  }

  private mutating func findRewrittenLeaves() {
    var leaves: [[ArraySlice<UInt8>]: Int] = [:]
    for leaf in pages[.leaf, default: []] { leaves[keys(of: leaf)] = leaf }
    for page in pages[.other, default: []] {
      let base = page * Self.pageSize
      guard (word(base) as UInt64) == UInt64(page), (word(base + 10) as UInt16) == 2 else { continue }
      if let leaf = leaves[keys(of: page)] { rewrittenLeaves.append((leaf, page)) }
    }
  }

  private func keys(of leaf: Int) -> [ArraySlice<UInt8>] {
    let base = leaf * Self.pageSize
    return (0..<(Int(word(base + 12) as UInt16) - 16) / 2).map { index in
      let node = base + Int(word(base + 16 + 2 * index) as UInt16)
      return bytes[node + 8..<node + 8 + Int(word(node + 6) as UInt16)]
    }
  }

  private func word<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) -> T {
    bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: T.self) }
  }

  /// Checks nothing: the image is undamaged.
  private mutating func collect(_ root: UInt64, isFreeList: Bool, _ seen: inout Set<Int>) {
    if root == .max { return }
    let page = Int(root)
    let base = page * Self.pageSize
    let isBranch = (word(base + 10) as UInt16) == 1
    seen.insert(page)
    pages[isFreeList ? .freeList : isBranch ? .branch : .leaf, default: []].append(page)
    for index in 0..<(Int(word(base + 12) as UInt16) - 16) / 2 {
      let node = base + Int(word(base + 16 + 2 * index) as UInt16)
      if isBranch {
        collect(UInt64(word(node) as UInt32), isFreeList: isFreeList, &seen)
      } else if (word(node + 4) as UInt16) == 1 {
        let start = Int(word(node + 8 + Int(word(node + 6) as UInt16)) as UInt64)
        for number in start..<start + Int(word(start * Self.pageSize + 12) as UInt32) {
          seen.insert(number)
          pages[isFreeList ? .freeList : .overflow, default: []].append(number)
        }
      }
    }
  }
}
