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
