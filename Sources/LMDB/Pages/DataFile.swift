package import Platform

/// A data file opened for pread(2) only, so that no damage can raise a signal.
struct DataFile: ~Copyable {
  private let file: File
  /// Size in bytes, when opened or last updated.
  private(set) var size: Int

  /// Opens a file in a directory; `nil` if either does not exist.
  ///
  /// - Throws: `.foreignFile` for anything except a regular file, such as a link or a FIFO.
  init?(_ name: String, in path: String) throws(LMDBError) {
    guard let directory = try system({ () throws(SystemError) in try Directory(existing: path) }) else { return nil }
    try self.init(name, in: directory)
  }

  /// Opens a file in an open directory; `nil` if it does not exist.
  init?(_ name: String, in directory: Directory) throws(LMDBError) {
    guard let file = try system({ () throws(SystemError) in try directory.open(name) }) else { return nil }
    size = try system { () throws(SystemError) in try file.status().size }
    self.file = file
  }

  var identity: FileIdentity {
    get throws(LMDBError) { try system { () throws(SystemError) in try file.identity() } }
  }

  /// Updates the size.
  mutating func noteSize() throws(LMDBError) {
    size = try system { () throws(SystemError) in try file.status().size }
  }

  /// Asks the kernel to read the file ahead if it is small enough.
  borrowing func readAhead() {
    #if os(Linux)
      // Only advice: the result does not matter.
      if size <= 256 << 20 { _ = posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_WILLNEED) }
    #endif
  }

  /// Fills `buffer` from `offset`; `false` if the file ends before.
  borrowing func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(LMDBError) -> Bool {
    do throws(SystemError) { return try file.read(buffer, at: offset) } catch { throw LMDBError(error) }
  }
}

/// Changes with every commit to a data file and when another file replaces it. Marks record the state in which a file
/// was sound by it.
package struct DataFileSnapshot {
  package let status: FileStatus
  /// The beginnings of both meta pages, which hold the last transaction's number.
  package let metaPages: (first: [UInt8], second: [UInt8])

  /// - Parameter metaLength: Bytes of each meta page.
  /// - Returns: `nil` if the file is missing or too short for a database.
  package init?(of directory: Directory, metaLength: Int) throws(SystemError) {
    guard let file = try directory.open(OpenFiles.dataFile) else { return nil }
    status = try file.status()
    var first = [UInt8](repeating: 0, count: metaLength)
    guard try file.read(&first) else { return nil }
    // The first page gives the second one's offset: `mm_psize`.
    let pageSize = first.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: 40, as: UInt32.self)) }
    var second = [UInt8](repeating: 0, count: metaLength)
    guard pageSize >= metaLength, try file.read(&second, at: pageSize) else { return nil }
    metaPages = (first, second)
  }
}

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What is wrong with a data file, and where.
///
/// Match on ``kind``; ``detail`` is for people.
package struct DataFileFinding: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  /// What is wrong. An open set: newer versions may add kinds.
  package struct Kind: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    private init(_ description: String) { self.description = description }

    /// Neither meta page is one of LMDB.
    package static let notDatabase = Kind("notDatabase")
    /// Both meta pages are of another version of LMDB's format.
    package static let version = Kind("version")
    /// The page size is none that LMDB can have written here.
    package static let pageSize = Kind("pageSize")
    /// A meta page contradicts itself or the other one.
    package static let meta = Kind("meta")
    /// A page in use lies past the end of the file.
    package static let truncated = Kind("truncated")
    /// A page's own number is not its place, or a reference leads out of the file.
    package static let pageNumber = Kind("pageNumber")
    /// A page is not of the kind that its place in the tree asks for.
    package static let pageFlags = Kind("pageFlags")
    /// The free room of a page is out of bounds, or not what its entries leave.
    package static let bounds = Kind("bounds")
    /// An entry of a page is out of bounds or has an impossible length.
    package static let node = Kind("node")
    /// The keys are not in order, in a page or between pages.
    package static let keyOrder = Kind("keyOrder")
    /// The tree is not as deep as recorded.
    package static let depth = Kind("depth")
    /// The numbers of pages or entries are not as recorded.
    package static let statistics = Kind("statistics")
    /// The pages of a large value do not fit it.
    package static let overflow = Kind("overflow")
    /// A page is used twice, or used and free.
    package static let doubleUse = Kind("doubleUse")
    /// The list of free pages is not one.
    package static let freeList = Kind("freeList")
    /// The database has features that this package never uses, such as several values under one key.
    package static let unsupported = Kind("unsupported")
  }

  package var kind: Kind
  /// The page it was found in, or `nil` if it concerns the file.
  package var page: UInt64?
  package var detail: String

  init(_ kind: Kind, page: UInt64? = nil, _ detail: String) {
    self.kind = kind
    self.page = page
    self.detail = detail
  }

  package var errorDescription: String? { description }
  package var description: String { (page.map { "page \($0): " } ?? "") + "\(detail) [\(kind)]" }
}

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The reason why a data file was not fully verified.
package enum DataFileError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  /// The file is damaged, or not an LMDB file.
  case finding(DataFileFinding)
  /// The file could not be read; this says nothing about its contents.
  case unreadable(LMDBError)

  package var errorDescription: String? { description }
  package var description: String {
    switch self {
    case .finding(let finding): finding.description
    case .unreadable(let error): error.description
    }
  }
}
