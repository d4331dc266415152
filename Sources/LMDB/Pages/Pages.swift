import CPlatform

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

/// `MDB_meta` of the data file's page 0 or 1, as read.
struct MetaPage: Equatable {
  /// Bytes from the start of the page to the end of LMDB's fields.
  static let length = 16 + 136
  static let magic: UInt32 = 0xBEEF_C0DE
  static let version: UInt32 = 1
  /// Higher numbers are refused: one transaction a nanosecond takes 146 years to get there. Leaves room for arithmetic.
  static let transactionLimit: UInt64 = 1 << 62
  /// `P_META`
  private static let flag: UInt16 = 8

  let number: UInt64
  let flags: UInt16
  let magic: UInt32
  let version: UInt32
  let mapSize: UInt64
  let free: DatabaseRecord
  let main: DatabaseRecord
  let lastPage: UInt64
  let transactionID: UInt64

  /// - Parameter page: At least ``length`` bytes.
  init(_ page: UnsafeRawPointer) {
    number = page.loadUnaligned(as: UInt64.self)
    flags = page.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
    magic = page.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
    version = page.loadUnaligned(fromByteOffset: 20, as: UInt32.self)
    mapSize = page.loadUnaligned(fromByteOffset: 32, as: UInt64.self)
    free = DatabaseRecord(page + 40)
    main = DatabaseRecord(page + 40 + DatabaseRecord.size)
    lastPage = page.loadUnaligned(fromByteOffset: 136, as: UInt64.self)
    transactionID = page.loadUnaligned(fromByteOffset: 144, as: UInt64.self)
  }

  /// LMDB stores the page size in the padding of the free list's record.
  var pageSize: UInt32 { free.pad }

  /// Checks one page by itself.
  func check(at place: UInt64, fileSize: Int) throws(DataFileError) {
    func require(_ condition: Bool, _ kind: DataFileFinding.Kind, _ detail: @autoclosure () -> String)
      throws(DataFileError)
    {
      if !condition { throw .finding(DataFileFinding(kind, page: place, detail())) }
    }
    try require(magic == Self.magic, .notDatabase, "the magic number is \(magic)")
    try require(version == Self.version, .meta, "the format's version is \(version)")
    try require(flags == Self.flag, .pageFlags, "a meta page has the flags \(flags)")
    try require(number == place, .pageNumber, "the page says it is page \(number)")
    // LMDB takes the page size from the file, which may come from a machine with larger pages.
    try require(
      pageSize >= 4096 && pageSize <= 32768 && pageSize & (pageSize - 1) == 0, .pageSize,
      "the page size is \(pageSize)")
    try require(lastPage >= 1 && lastPage < UInt64(Int.max) / UInt64(pageSize), .meta, "the last page is \(lastPage)")
    try require(
      mapSize <= UInt64(Int.max) && mapSize / UInt64(pageSize) > lastPage, .meta,
      "the map of \(mapSize) bytes does not hold page \(lastPage)")
    // LMDB stores the environment's persistent flags with those of the free list, which has integer keys.
    try require(free.flags & ~0x4000 == 8, .meta, "the free list has the flags \(free.flags)")
    try require(transactionID < Self.transactionLimit, .meta, "the transaction is number \(transactionID)")
    // A transaction writes the meta page of its number's parity; LMDB finds the newest by it.
    try require(
      transactionID == 0 || transactionID & 1 == place, .meta,
      "transaction \(transactionID) does not write this page")
    // Pages past the end of the file must be in the free list, which takes eight bytes for each.
    let missing = lastPage + 1 - min(lastPage + 1, UInt64(fileSize) / UInt64(pageSize))
    try require(
      missing <= UInt64(fileSize) / 8, .truncated, "the last page is \(lastPage), and the file has \(fileSize) bytes")
  }
}

/// `MDB_db`: a tree's root and figures.
struct DatabaseRecord: Equatable {
  static let size = 48
  /// `P_INVALID`
  static let noRoot = UInt64.max

  let pad: UInt32
  let flags: UInt16
  let depth: UInt16
  let branchPages: UInt64
  let leafPages: UInt64
  let overflowPages: UInt64
  let entries: UInt64
  let root: UInt64

  /// - Parameter bytes: At least ``size`` bytes.
  init(_ bytes: UnsafeRawPointer) {
    pad = bytes.loadUnaligned(as: UInt32.self)
    flags = bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
    depth = bytes.loadUnaligned(fromByteOffset: 6, as: UInt16.self)
    branchPages = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    leafPages = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
    overflowPages = bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    entries = bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)
    root = bytes.loadUnaligned(fromByteOffset: 40, as: UInt64.self)
  }

  var isEmpty: Bool { root == Self.noRoot }
}
