package final class DataFileWalk {
  package typealias Visit = (_ key: UnsafeRawBufferPointer, _ value: DataFileValue) throws(DataFileError) -> Void

  /// `CURSOR_STACK`
  private static let maximumDepth = 32
  /// `offsetof(MDB_page, mp_ptrs)`
  static let headerSize = 16
  /// The most bytes read before a large value and of it.
  private static let overflowPrefix = 16 + 1_024

  private let file: DataFile
  let meta: MetaPage
  let pageSize: Int
  let visit: Visit
  private let pagesInFile: Int
  private var used = PageSet()
  private var result = VerifiedDataFile()
  /// One page per level, reused; the last is for the first pages of large values.
  private let buffers: UnsafeMutableRawPointer

  init(_ file: consuming DataFile, _ meta: MetaPage, _ visit: @escaping Visit) {
    self.meta = meta
    self.visit = visit
    pageSize = Int(meta.pageSize)
    pagesInFile = file.size / pageSize
    buffers = .allocate(byteCount: pageSize * (2 * Self.maximumDepth + 1), alignment: 4096)
    result.size = file.size
    self.file = file
  }

  deinit { buffers.deallocate() }

  func run() throws(DataFileError) -> VerifiedDataFile {
    result.pageSize = pageSize
    result.transactionID = meta.transactionID
    result.pages = Int(meta.lastPage) + 1
    result.bytesRead = 2 * MetaPage.length
    _ = used.insert(0)
    _ = used.insert(1)
    let page = meta.transactionID & 1
    var free = TreeWalk(self, meta.free, .freeList, recordedIn: page)
    try free.run()
    var main = TreeWalk(self, meta.main, .main, recordedIn: page)
    try main.run()
    result.depth = Int(meta.main.depth)
    result.entries = Int(meta.main.entries)
    // Free pages may not have been written yet; all others have been.
    for page in stride(from: pagesInFile, to: result.pages, by: 1) where !used.contains(page) {
      throw .finding(
        DataFileFinding(
          .truncated, page: UInt64(page),
          "the page is not in the file, which has \(file.size) bytes, and not in the free list"))
    }
    result.unreferencedPages = result.pages - used.count
    return result
  }

  // MARK: Pages

  /// The buffer of a level. Named databases use separate levels.
  func buffer(level: Int, isNested: Bool) -> UnsafeMutableRawPointer {
    buffers + (level + (isNested ? Self.maximumDepth : 0)) * pageSize
  }

  func checkDepth(_ record: DatabaseRecord, recordedIn page: UInt64) throws(DataFileError) {
    guard record.depth <= Self.maximumDepth, (record.depth == 0) == record.isEmpty else {
      throw .finding(DataFileFinding(.depth, page: page, "a tree of depth \(record.depth) with root \(record.root)"))
    }
  }

  /// Claims `count` pages from `page`, which must be unclaimed and in the file.
  func take(_ page: UInt64, count: UInt64 = 1, from parent: UInt64) throws(DataFileError) -> Int {
    guard page >= 2, page <= meta.lastPage, count <= meta.lastPage - page + 1 else {
      throw .finding(
        DataFileFinding(
          .pageNumber, page: parent, "refers to \(count) page(s) from \(page) on, and the last is \(meta.lastPage)"))
    }
    guard page + count <= UInt64(pagesInFile) else {
      throw .finding(
        DataFileFinding(.truncated, page: page, "page \(parent) refers to it, and the file has \(pagesInFile) pages"))
    }
    for number in Int(page)..<Int(page + count) where !used.insert(number) {
      throw .finding(
        DataFileFinding(.doubleUse, page: UInt64(number), "page \(parent) refers to it, and it is used or free already")
      )
    }
    return Int(page)
  }

  /// Claims a page of the free list, which may lie past the end of the file.
  func takeFree(_ page: UInt64, from parent: UInt64) throws(DataFileError) {
    guard page >= 2, page <= meta.lastPage else {
      throw .finding(
        DataFileFinding(.freeList, page: parent, "page \(page) is free, and the last is \(meta.lastPage)"))
    }
    guard used.insert(Int(page)) else {
      throw .finding(DataFileFinding(.doubleUse, page: page, "it is free, and used or free already"))
    }
    result.freePages += 1
  }

  /// Reads a whole page, or its first `count` bytes.
  func read(
    _ page: Int, into buffer: UnsafeMutableRawPointer, offset: Int = 0, count: Int? = nil
  ) throws(DataFileError) {
    let count = count ?? pageSize
    result.bytesRead += count
    let isWhole: Bool
    do throws(LMDBError) {
      isWhole = try file.read(
        UnsafeMutableRawBufferPointer(start: buffer, count: count), at: page * pageSize + offset)
    } catch {
      throw .unreadable(error)
    }
    if !isWhole { throw .finding(DataFileFinding(.truncated, page: UInt64(page), "the file became shorter")) }
  }

  /// Claims a large value's pages and checks the first one. Returns the value's beginning, valid until the next call.
  func overflow(
    _ page: UInt64, valueSize: Int, from parent: UInt64, pages: inout UInt64
  ) throws(DataFileError) -> UnsafeRawBufferPointer {
    let needed = UInt64((Self.headerSize - 1 + valueSize) / pageSize + 1)
    // Checked before the read: the page must be in the file.
    guard page >= 2, page <= meta.lastPage, page < UInt64(pagesInFile) else {
      throw .finding(DataFileFinding(.overflow, page: parent, "a value is said to be in page \(page)"))
    }
    let buffer = buffers + 2 * Self.maximumDepth * pageSize
    let count = min(Self.overflowPrefix, Self.headerSize + valueSize)
    try read(Int(page), into: buffer, count: count)
    let header = UnsafeRawPointer(buffer)
    let recorded = UInt64(header.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
    guard header.loadUnaligned(as: UInt64.self) == page else {
      throw .finding(
        DataFileFinding(.pageNumber, page: page, "the page says it is page \(header.loadUnaligned(as: UInt64.self))"))
    }
    // `P_OVERFLOW`
    guard header.loadUnaligned(fromByteOffset: 10, as: UInt16.self) == 4 else {
      throw .finding(DataFileFinding(.pageFlags, page: page, "page \(parent) takes it for a large value's"))
    }
    // A value that replaced a longer one in the same transaction has spare pages.
    guard recorded >= needed, recorded <= UInt64(UInt32.max) / UInt64(pageSize) + 2 else {
      throw .finding(
        DataFileFinding(.overflow, page: page, "it begins \(recorded) pages, and its value needs \(needed)"))
    }
    _ = try take(page, count: recorded, from: parent)
    pages += recorded
    return UnsafeRawBufferPointer(start: buffer + Self.headerSize, count: count - Self.headerSize)
  }

  func add(branchPages: UInt64, leafPages: UInt64, overflowPages: UInt64) {
    result.branchPages += Int(branchPages)
    result.leafPages += Int(leafPages)
    result.overflowPages += Int(overflowPages)
  }
}
