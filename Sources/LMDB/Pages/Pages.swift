import CPlatform
import Platform
import Synchronization

// The format of a data file's pages, as in mdb.c: 64-bit, in this machine's byte order.

/// A branch or leaf page, in the map or in a buffer. Nothing that would lead out of the page is trusted.
///
/// The initializer and ``node(_:)`` check only that, for lookups in the map. ``init(checking:number:size:)`` and
/// ``checkedNode(_:)`` check all that LMDB relies on, for files that are not trusted yet.
// @safe: reads stay within the page, which belongs to a snapshot or a buffer that outlives this.
@safe struct TreePage {
  /// `offsetof(MDB_page, mp_ptrs)`
  static let headerSize = 16
  /// `offsetof(MDB_node, mn_data)`
  private static let nodeHeaderSize = 8
  /// `P_BRANCH`, `P_LEAF`
  private static let branch: UInt16 = 1
  private static let leaf: UInt16 = 2
  /// `MDB_MAXKEYSIZE`
  static let longestKey = 511
  /// `CURSOR_STACK`
  static let mostLevels = 32

  private let base: UnsafeRawPointer
  let isLeaf: Bool
  let count: Int
  private let size: Int

  /// Returns `nil` if this cannot be a tree page.
  ///
  /// - Parameter base: `size` bytes, aligned to 8.
  @inline(__always)
  init?(_ base: UnsafeRawPointer, number: UInt64, size: Int) {
    let flags = unsafe base.load(fromByteOffset: 10, as: UInt16.self)
    let lower = unsafe Int(base.load(fromByteOffset: 12, as: UInt16.self))
    guard unsafe base.load(as: UInt64.self) == number, flags == Self.leaf || flags == Self.branch,
      lower >= Self.headerSize, lower <= size
    else { return nil }
    unsafe self.base = base
    self.size = size
    isLeaf = flags == Self.leaf
    count = (lower &- Self.headerSize) >> 1
  }

  // @safe: as the page, which its header and key are in.
  @safe struct Node {
    /// `F_BIGDATA`, `F_SUBDATA`
    static let bigData: UInt16 = 1
    static let subData: UInt16 = 2

    let base: UnsafeRawPointer
    let keyCount: Int
    /// Bytes from the end of the key to the end of the page.
    fileprivate let room: Int

    @inline(__always)
    fileprivate init(_ base: UnsafeRawPointer, keyCount: Int, room: Int) {
      unsafe self.base = base
      self.keyCount = keyCount
      self.room = room
    }

    @inline(__always)
    var key: TreeKey { unsafe TreeKey(base + TreePage.nodeHeaderSize, count: keyCount) }

    @inline(__always)
    var flags: UInt16 { unsafe base.load(fromByteOffset: 4, as: UInt16.self) }

    /// Leaf only: the value's size in bytes, inline or not. Nodes are at even addresses only.
    @inline(__always)
    var dataSize: Int { Int(firstHalf) }

    /// Branch only: the child's page number, 48 bits.
    @inline(__always)
    var child: UInt64 { UInt64(firstHalf) | UInt64(flags) << 32 }

    @inline(__always)
    private var firstHalf: UInt32 { unsafe base.loadUnaligned(as: UInt32.self) }

    /// Leaf only: bytes after the key; `nil` if the page ends before.
    @inline(__always)
    func data(_ count: Int) -> UnsafeRawBufferPointer? {
      if count > room { return nil }
      return unsafe UnsafeRawBufferPointer(start: base + TreePage.nodeHeaderSize + keyCount, count: count)
    }

    /// Leaf only: the number of a large value's first page.
    var overflowPage: UInt64? {
      guard flags == Self.bigData, let data = unsafe data(8) else { return nil }
      return unsafe data.loadUnaligned(as: UInt64.self)
    }

    /// The entry's size in the page, in bytes.
    func paddedSize(dataSize: Int) -> Int { (TreePage.nodeHeaderSize + keyCount + dataSize + 1) & ~1 }
  }

  @inline(__always)
  private func offset(_ slot: Int) -> Int? {
    guard UInt(bitPattern: slot) < UInt(bitPattern: count) else { return nil }
    return unsafe Int(base.load(fromByteOffset: Self.headerSize &+ 2 &* slot, as: UInt16.self))
  }

  /// The offset of an entry of this page.
  @inline(__always)
  func offset(of node: Node) -> Int { size &- node.room &- node.keyCount &- Self.nodeHeaderSize }

  /// Returns `nil` for an entry outside the page.
  @inline(__always)
  func node(_ slot: Int) -> Node? {
    guard let offset = offset(slot), offset & 1 == 0, offset &+ Self.nodeHeaderSize <= size else { return nil }
    let node = unsafe base + offset
    let keyCount = unsafe Int(node.load(fromByteOffset: 6, as: UInt16.self))
    let room = size &- offset &- Self.nodeHeaderSize &- keyCount
    guard room >= 0 else { return nil }
    return unsafe Node(node, keyCount: keyCount, room: room)
  }

  @inline(__always)
  func prefetch(_ slot: Int) { if let offset = offset(slot) { unsafe cplatform_prefetch(base + offset) } }

  /// Prefetches the seven entries that the first three steps of a binary search may compare with.
  @inline(__always)
  func prefetchMiddles() {
    guard count >= 8 else { return }
    for eighth in 1..<8 { prefetch(count &* eighth >> 3) }
  }

  // MARK: Files that are not trusted yet

  var number: UInt64 { unsafe base.load(as: UInt64.self) }
  /// The start of the entries.
  private var upper: Int { unsafe Int(base.load(fromByteOffset: 14, as: UInt16.self)) }

  init(checking base: UnsafeRawPointer, number: UInt64, size: Int) throws(DataFileError) {
    let bytes = unsafe UnsafeRawBufferPointer(start: base, count: size).bytes
    let recorded = bytes.load(as: UInt64.self)
    try require(recorded == number, .pageNumber, number, "the page says it is page \(recorded)")
    let flags = bytes.load(at: 10, as: UInt16.self)
    try require(
      flags == Self.branch || flags == Self.leaf, .pageFlags, number, "a page of a tree has the flags \(flags)")
    let lower = bytes.load(at: 12, as: UInt16.self)
    let upper = bytes.load(at: 14, as: UInt16.self)
    guard let page = unsafe TreePage(base, number: number, size: size), lower & 1 == 0, lower <= upper, upper <= size
    else {
      throw .finding(DataFileFinding(.bounds, page: number, "free from \(lower) to \(upper) of \(size) bytes"))
    }
    self = page
  }

  @inline(__always)
  func checkedNode(_ slot: Int) throws(DataFileError) -> Node {
    guard let node = node(slot), offset(of: node) >= upper else {
      throw .finding(DataFileFinding(.node, page: number, "entry \(slot) is said to be at \(offset(slot) ?? 0)"))
    }
    return node
  }

  /// LMDB leaves no gaps between entries.
  func checkRoom(_ total: Int) throws(DataFileError) {
    try require(
      upper + total == size, .bounds, number, "the entries have \(total) bytes, and the page \(size - upper) for them")
  }
}

/// The first page of a large value.
struct OverflowPage {
  /// `P_OVERFLOW`
  private static let flag: UInt16 = 4

  /// The number of pages that begin with it.
  let pages: UInt64

  /// Returns `nil` if no large value begins there.
  init?(_ page: RawSpan, number: UInt64) {
    guard page.load(as: UInt64.self) == number, page.load(at: 10, as: UInt16.self) == Self.flag else { return nil }
    pages = UInt64(page.load(at: 12, as: UInt32.self))
  }

  /// - Parameter parent: The page that refers to it.
  init(
    checking page: RawSpan, number: UInt64, valueSize: Int, pageSize: Int, from parent: UInt64
  ) throws(DataFileError) {
    let recorded = page.load(as: UInt64.self)
    try require(recorded == number, .pageNumber, number, "the page says it is page \(recorded)")
    guard let page = OverflowPage(page, number: number) else {
      throw .finding(DataFileFinding(.pageFlags, page: number, "page \(parent) takes it for a large value's"))
    }
    let needed = UInt64((TreePage.headerSize - 1 + valueSize) / pageSize + 1)
    // A value that replaced a longer one in the same transaction has spare pages.
    try require(
      page.pages >= needed && page.pages <= UInt64(UInt32.max) / UInt64(pageSize) + 2, .overflow, number,
      "it begins \(page.pages) pages, and its value needs \(needed)")
    self = page
  }
}

/// `MDB_meta` of the data file's page 0 or 1, as read.
struct MetaPage: Equatable {
  /// Bytes from the start of the page to the end of LMDB's fields.
  static let length = 16 + 136
  static let magic: UInt32 = 0xBEEF_C0DE
  static let version: UInt32 = 1
  /// Higher numbers are refused: one transaction a nanosecond takes 146 years to get there. Leaves room for arithmetic.
  private static let transactionLimit: UInt64 = 1 << 62
  /// `P_META`
  private static let flag: UInt16 = 8

  enum Offset {
    static let magic = 16
    static let version = 20
    static let mapSize = 32
    static let free = 40
    static let main = 40 + DatabaseRecord.size
    static let lastPage = 136
    static let transactionID = 144
  }

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
  init(_ page: RawSpan) {
    number = page.load(as: UInt64.self)
    flags = page.load(at: 10, as: UInt16.self)
    magic = page.load(at: Offset.magic, as: UInt32.self)
    version = page.load(at: Offset.version, as: UInt32.self)
    mapSize = page.load(at: Offset.mapSize, as: UInt64.self)
    free = DatabaseRecord(page, at: Offset.free)
    main = DatabaseRecord(page, at: Offset.main)
    lastPage = page.load(at: Offset.lastPage, as: UInt64.self)
    transactionID = page.load(at: Offset.transactionID, as: UInt64.self)
  }

  /// LMDB stores the page size in the padding of the free list's record.
  var pageSize: UInt32 { free.pad }

  /// Checks one page by itself.
  func check(at place: UInt64, fileSize: Int) throws(DataFileError) {
    try require(magic == Self.magic, .notDatabase, place, "the magic number is \(magic)")
    try require(version == Self.version, .meta, place, "the format's version is \(version)")
    try require(flags == Self.flag, .pageFlags, place, "a meta page has the flags \(flags)")
    try require(number == place, .pageNumber, place, "the page says it is page \(number)")
    // LMDB takes the page size from the file, which may come from a machine with larger pages.
    try require(
      pageSize >= 4096 && pageSize <= 32768 && pageSize & (pageSize - 1) == 0, .pageSize, place,
      "the page size is \(pageSize)")
    try require(
      lastPage >= 1 && lastPage < UInt64(Int.max) / UInt64(pageSize), .meta, place, "the last page is \(lastPage)")
    try require(
      mapSize <= UInt64(Int.max) && mapSize / UInt64(pageSize) > lastPage, .meta, place,
      "the map of \(mapSize) bytes does not hold page \(lastPage)")
    // LMDB stores the environment's persistent flags with those of the free list, which has integer keys.
    try require(free.flags & ~0x4000 == 8, .meta, place, "the free list has the flags \(free.flags)")
    try require(transactionID < Self.transactionLimit, .meta, place, "the transaction is number \(transactionID)")
    // A transaction writes the meta page of its number's parity; LMDB finds the newest by it.
    try require(
      transactionID == 0 || transactionID & 1 == place, .meta, place,
      "transaction \(transactionID) does not write this page")
    // Pages past the end of the file must be in the free list, which takes eight bytes for each.
    let missing = lastPage + 1 - min(lastPage + 1, UInt64(fileSize) / UInt64(pageSize))
    try require(
      missing <= UInt64(fileSize) / 8, .truncated, place,
      "the last page is \(lastPage), and the file has \(fileSize) bytes")
  }
}

/// `MDB_db`: a tree's root and figures.
struct DatabaseRecord: Equatable {
  static let size = 48
  /// `P_INVALID`
  private static let noRoot = UInt64.max

  enum Offset {
    static let flags = 4
    static let depth = 6
    static let root = 40
  }

  let pad: UInt32
  let flags: UInt16
  let depth: UInt16
  let branchPages: UInt64
  let leafPages: UInt64
  let overflowPages: UInt64
  let entries: UInt64
  let root: UInt64

  /// - Parameter bytes: At least ``size`` bytes from `start` on.
  init(_ bytes: RawSpan, at start: Int = 0) {
    pad = bytes.load(at: start, as: UInt32.self)
    flags = bytes.load(at: start + Offset.flags, as: UInt16.self)
    depth = bytes.load(at: start + Offset.depth, as: UInt16.self)
    branchPages = bytes.load(at: start + 8, as: UInt64.self)
    leafPages = bytes.load(at: start + 16, as: UInt64.self)
    overflowPages = bytes.load(at: start + 24, as: UInt64.self)
    entries = bytes.load(at: start + 32, as: UInt64.self)
    root = bytes.load(at: start + Offset.root, as: UInt64.self)
  }

  var isEmpty: Bool { root == Self.noRoot }

  /// Checks a record that a page has.
  func check(isFreeList: Bool = false, in page: UInt64) throws(DataFileError) {
    try require(
      isFreeList || flags == 0 && pad == 0, .unsupported, page, "a database has the flags \(flags), padding \(pad)")
    try require(
      depth <= TreePage.mostLevels && (depth == 0) == isEmpty, .depth, page,
      "a tree of depth \(depth) with root \(root)")
  }
}

/// This package's own mapping of the two meta pages, to read the last transaction's number.
///
/// `mdb_env_info` reads the same words through the environment's map, which disappears briefly while the map grows and
/// for good on close. This mapping lives as long as the `Environment` object, so two loads read the number at any time
/// without a lock.
// @unchecked: the pointer never changes, and the words behind it are read atomically.
// @safe: the pages stay mapped as long as `map`.
@safe struct MetaPages: ~Copyable, @unchecked Sendable {
  private let map: MemoryMap
  private let base: UnsafeMutableRawPointer
  let pageSize: Int

  /// - Throws: `.versionMismatch` if the pages are not laid out as expected.
  init(descriptor: Int32, pageSize: Int) throws(LMDBError) {
    let map = try system { () throws(SystemError) in
      try MemoryMap(descriptor: descriptor, path: EnvironmentFiles.dataName, size: 2 * pageSize, .reading)
    }
    for number in 0...1 {
      let meta = unsafe Self.meta(map.base + number * pageSize, pageSize)
      guard meta.magic == MetaPage.magic, meta.version == MetaPage.version else {
        throw LMDBError(code: .versionMismatch, operation: "Environment.open")
      }
    }
    self.map = map
    unsafe base = map.base
    self.pageSize = pageSize
  }

  private static func meta(_ page: UnsafeRawPointer, _ size: Int) -> MetaPage {
    MetaPage(unsafe UnsafeRawBufferPointer(start: page, count: size).bytes)
  }

  /// The word of a page that begins at an offset, read atomically.
  @inline(__always)
  private func word(_ page: Int, _ offset: Int) -> UInt64 {
    unsafe (base + page &* pageSize + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee
      .load(ordering: .acquiring)
  }

  @inline(__always)
  var lastTransactionID: UInt64 { max(word(0, MetaPage.Offset.transactionID), word(1, MetaPage.Offset.transactionID)) }

  /// The root, depth and end (last page number + 1) of the main database for a transaction that the caller has a
  /// snapshot of. `nil` if there is no tree, or a newer transaction has committed.
  ///
  /// A page is written with its transaction number last but is not read atomically: the fields may belong to the next
  /// transaction but one, before its number is published. That transaction cannot have begun until the other page shows
  /// the one in between.
  @inline(__always)
  func mainTree(of transaction: UInt64) -> (root: UInt64, depth: Int, end: UInt64)? {
    let page = Int(truncatingIfNeeded: transaction & 1)
    guard word(page, MetaPage.Offset.transactionID) == transaction else { return nil }
    let root = word(page, MetaPage.Offset.main + DatabaseRecord.Offset.root)
    let lastPage = word(page, MetaPage.Offset.lastPage)
    // In this machine's byte order, which is little-endian where the map is searched.
    let header = word(page, MetaPage.Offset.main)
    let flags = header >> (8 * UInt64(DatabaseRecord.Offset.flags)) & 0xFFFF
    let depth = header >> (8 * UInt64(DatabaseRecord.Offset.depth))
    // Excludes `MDB_DUPSORT` and keys in another order.
    guard flags == 0, root <= lastPage, word(page, MetaPage.Offset.transactionID) == transaction,
      word(1 &- page, MetaPage.Offset.transactionID) < transaction
    else { return nil }
    return (root, Int(depth), lastPage &+ 1)
  }

  /// Whether an address holds these two pages.
  func isShown(at address: UInt) -> Bool {
    let pages = unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: address), count: 2 * pageSize)
    guard unsafe cplatform_is_resident(pages.baseAddress, pages.count) == 1 else { return false }
    let bytes = unsafe pages.bytes
    return [0, pageSize].allSatisfy { page in
      [0, MetaPage.Offset.magic].allSatisfy { offset in
        bytes.load(at: page + offset, as: UInt64.self) == word(0, page + offset)
      }
    }
  }

  /// The map size that the last writer recorded, or more if its pages need it: the size `mdb_env_set_mapsize(0)` takes.
  var recordedMapSize: Int {
    let isSecond = word(0, MetaPage.Offset.transactionID) < word(1, MetaPage.Offset.transactionID)
    let meta = unsafe Self.meta(base + (isSecond ? pageSize : 0), pageSize)
    return Int(clamping: max(meta.mapSize, (meta.lastPage &+ 1) &* UInt64(pageSize)))
  }

  /// Replaces the pages with those of another file, immediately for all readers.
  func remap(descriptor: Int32) throws(LMDBError) {
    try system { () throws(SystemError) in try map.replace(descriptor: descriptor, path: EnvironmentFiles.dataName) }
  }
}
