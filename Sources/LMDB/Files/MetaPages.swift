import Platform
import Synchronization

/// A mapping of our own of the file's two meta pages, to read the last transaction's number from.
///
/// `mdb_env_info` reads the same words, but through the environment's map, which is gone for a moment while the map
/// grows and for good once the environment is closed. This mapping lives as long as the `Environment` object, so the
/// number can be read at any time, without a lock, by two loads.
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

  /// Maps the pages, and checks that they are laid out as expected.
  ///
  /// - Throws: `.versionMismatch` if they are not.
  init(descriptor: Int32, pageSize: Int) throws(LMDBError) {
    // A forked child may go on asking for the number.
    map = try system { () throws(SystemError) in
      try MemoryMap(descriptor: descriptor, path: "data.mdb", size: 2 * pageSize, .reading, isInherited: true)
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

  /// The map size that the last writer recorded, at least what its pages need: what `mdb_env_set_mapsize(0)` takes.
  var recordedMapSize: Int {
    let page =
      first.pointee.load(ordering: .acquiring) < second.pointee.load(ordering: .acquiring) ? base + pageSize : base
    let size = page.load(fromByteOffset: Self.mapSizeOffset, as: UInt.self)
    let lastPage = page.load(fromByteOffset: Self.lastPageOffset, as: UInt.self)
    return Int(clamping: max(size, (lastPage &+ 1) &* UInt(pageSize)))
  }

  /// Puts the pages of another file in the place of these, at once for whoever is reading.
  func remap(descriptor: Int32) throws(LMDBError) {
    try system { () throws(SystemError) in try map.replace(descriptor: descriptor, path: "data.mdb") }
  }
}
