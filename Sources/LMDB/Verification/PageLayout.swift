/// A branch or leaf page in memory with a checked header.
struct PageLayout {
  static let branch: UInt16 = 1
  static let leaf: UInt16 = 2
  /// `offsetof(MDB_node, mn_data)`
  private static let nodeHeaderSize = 8

  let number: UInt64
  let flags: UInt16
  let count: Int
  private let base: UnsafeRawPointer
  private let size: Int
  private let upper: Int

  /// - Parameter base: `size` bytes.
  init(_ base: UnsafeRawPointer, number: UInt64, size: Int) throws(DataFileError) {
    self.base = base
    self.number = number
    self.size = size
    let recorded = base.loadUnaligned(as: UInt64.self)
    guard recorded == number else {
      throw .finding(DataFileFinding(.pageNumber, page: number, "the page says it is page \(recorded)"))
    }
    flags = base.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
    guard flags == Self.branch || flags == Self.leaf else {
      throw .finding(DataFileFinding(.pageFlags, page: number, "a page of a tree has the flags \(flags)"))
    }
    let lower = Int(base.loadUnaligned(fromByteOffset: 12, as: UInt16.self))
    upper = Int(base.loadUnaligned(fromByteOffset: 14, as: UInt16.self))
    guard lower >= DataFileWalk.headerSize, lower & 1 == 0, lower <= upper, upper <= size else {
      throw .finding(DataFileFinding(.bounds, page: number, "free from \(lower) to \(upper) of \(size) bytes"))
    }
    count = (lower - DataFileWalk.headerSize) / 2
  }

  /// An entry whose header and key are within the page.
  struct Node {
    fileprivate let base: UnsafeRawPointer
    fileprivate let offset: Int
    let key: UnsafeRawBufferPointer

    var flags: UInt16 { base.loadUnaligned(fromByteOffset: 4, as: UInt16.self) }

    /// Leaf only: the value's size in bytes, inline or not.
    var dataSize: Int { Int(base.loadUnaligned(as: UInt32.self)) }

    var data: UnsafeRawPointer { base + PageLayout.nodeHeaderSize + key.count }

    /// Branch only: the child's page number, 48 bits.
    var child: UInt64 { UInt64(base.loadUnaligned(as: UInt32.self)) | UInt64(flags) << 32 }

    func fits(dataSize: Int, in pageSize: Int) -> Bool {
      offset + PageLayout.nodeHeaderSize + key.count + dataSize <= pageSize
    }

    /// The entry's size in the page, in bytes.
    func paddedSize(dataSize: Int) -> Int { (PageLayout.nodeHeaderSize + key.count + dataSize + 1) & ~1 }
  }

  @inline(__always)
  func node(_ index: Int) throws(DataFileError) -> Node {
    let offset = Int(base.loadUnaligned(fromByteOffset: DataFileWalk.headerSize + 2 * index, as: UInt16.self))
    guard offset >= upper, offset & 1 == 0, offset + Self.nodeHeaderSize <= size else {
      throw .finding(DataFileFinding(.node, page: number, "entry \(index) is said to be at \(offset)"))
    }
    let node = base + offset
    let keySize = Int(node.loadUnaligned(fromByteOffset: 6, as: UInt16.self))
    guard offset + Self.nodeHeaderSize + keySize <= size else {
      throw .finding(DataFileFinding(.node, page: number, "the key of entry \(index) has \(keySize) bytes"))
    }
    return Node(
      base: node, offset: offset,
      key: UnsafeRawBufferPointer(start: node + Self.nodeHeaderSize, count: keySize))
  }

  /// LMDB leaves no gaps between entries.
  func checkRoom(_ total: Int) throws(DataFileError) {
    guard upper + total == size else {
      throw .finding(
        DataFileFinding(.bounds, page: number, "the entries have \(total) bytes, and the page \(size - upper) for them")
      )
    }
  }
}
