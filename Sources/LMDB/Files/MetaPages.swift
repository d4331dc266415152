import Platform
import Synchronization

/// This package's own mapping of the two meta pages, to read the last transaction's number.
///
/// `mdb_env_info` reads the same words through the environment's map, which disappears briefly while the map grows and
/// for good on close. This mapping lives as long as the `Environment` object, so two loads read the number at any time
/// without a lock.
// @unchecked: the pointers never change, and the words behind them are read atomically.
struct MetaPages: @unchecked Sendable {
  private let map: MemoryMap
  private let base: UnsafeMutableRawPointer
  let pageSize: Int
  private let first: UnsafePointer<Atomic<UInt>>
  private let second: UnsafePointer<Atomic<UInt>>

  private static let word = MemoryLayout<UInt>.size
  /// `offsetof(MDB_page, mp_ptrs)`.
  private static let header = word + 8
  /// `mm_magic`, `mm_version`, `mm_address`, `mm_mapsize`, two `MDB_db`, `mm_last_pg`, `mm_txnid`.
  private static let mapSizeOffset = header + 8 + word
  private static let lastPageOffset = header + 8 + 2 * word + 2 * (8 + 5 * word)
  private static let transactionOffset = lastPageOffset + word

  /// - Throws: `.versionMismatch` if the pages are not laid out as expected.
  init(descriptor: Int32, pageSize: Int) throws(LMDBError) {
    map = try system { () throws(SystemError) in
      try MemoryMap(descriptor: descriptor, path: "data.mdb", size: 2 * pageSize, .reading)
    }
    base = map.base
    self.pageSize = pageSize
    first = UnsafeRawPointer(base + Self.transactionOffset).assumingMemoryBound(to: Atomic<UInt>.self)
    second = UnsafeRawPointer(base + pageSize + Self.transactionOffset).assumingMemoryBound(to: Atomic<UInt>.self)
    for page in [base, base + pageSize] {
      let magic = page.load(fromByteOffset: Self.header, as: UInt32.self)
      let version = page.load(fromByteOffset: Self.header + 4, as: UInt32.self)
      guard magic == 0xBEEF_C0DE, version == 1 else {
        throw LMDBError(code: .versionMismatch, operation: "Environment.open")
      }
    }
  }

  @inline(__always)
  var lastTransactionID: UInt64 {
    UInt64(max(first.pointee.load(ordering: .acquiring), second.pointee.load(ordering: .acquiring)))
  }

  /// `mm_dbs[1]`: `md_flags`, `md_depth`, `md_root`.
  private static let mainOffset = header + 8 + 2 * word + 8 + 5 * word
  private static let mainFlagsOffset = mainOffset + 4
  private static let mainDepthOffset = mainOffset + 6
  private static let mainRootOffset = mainOffset + 8 + 4 * word

  /// The root, depth and end (last page number + 1) of the main database for a transaction that the caller has a
  /// snapshot of. `nil` if there is no tree, or a newer transaction has committed.
  ///
  /// A page is written with its transaction number last but is not read atomically: the fields may belong to the next
  /// transaction but one, before its number is published. That transaction cannot have begun until the other page shows
  /// the one in between.
  @inline(__always)
  func mainTree(of transaction: UInt64) -> (root: UInt64, depth: Int, end: UInt64)? {
    let page = UnsafeRawPointer(transaction & 1 == 0 ? base : base + pageSize)
    func load(_ offset: Int) -> UInt64 {
      UInt64(
        (page + offset).assumingMemoryBound(to: Atomic<UInt>.self).pointee.load(ordering: .acquiring))
    }
    guard load(Self.transactionOffset) == transaction else { return nil }
    let root = load(Self.mainRootOffset)
    let lastPage = load(Self.lastPageOffset)
    let depth = (page + Self.mainDepthOffset).load(as: UInt16.self)
    // Excludes `MDB_DUPSORT` and keys in another order.
    guard (page + Self.mainFlagsOffset).load(as: UInt16.self) == 0, root <= lastPage,
      load(Self.transactionOffset) == transaction
    else { return nil }
    let other = transaction & 1 == 0 ? second : first
    guard UInt64(other.pointee.load(ordering: .acquiring)) < transaction else { return nil }
    return (root, Int(depth), lastPage &+ 1)
  }

  /// Whether a readable address holds these two pages.
  func isShown(at map: UnsafeRawPointer) -> Bool {
    for offset in [0, pageSize] {
      let (shown, own) = (map + offset, base + offset)
      guard shown.load(as: UInt64.self) == own.load(as: UInt64.self),
        shown.load(fromByteOffset: Self.header, as: UInt64.self)
          == own.load(fromByteOffset: Self.header, as: UInt64.self)
      else { return false }
    }
    return true
  }

  /// The map size that the last writer recorded, or more if its pages need it: the size `mdb_env_set_mapsize(0)` takes.
  var recordedMapSize: Int {
    let page =
      first.pointee.load(ordering: .acquiring) < second.pointee.load(ordering: .acquiring) ? base + pageSize : base
    let size = page.load(fromByteOffset: Self.mapSizeOffset, as: UInt.self)
    let lastPage = page.load(fromByteOffset: Self.lastPageOffset, as: UInt.self)
    return Int(clamping: max(size, (lastPage &+ 1) &* UInt(pageSize)))
  }

  /// Replaces the pages with those of another file, immediately for all readers.
  func remap(descriptor: Int32) throws(LMDBError) {
    try system { () throws(SystemError) in try map.replace(descriptor: descriptor, path: "data.mdb") }
  }
}
