#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

import Platform

/// A data file opened for pread(2) only, so that no damage can raise a signal.
struct DataFile: ~Copyable {
  private let file: File
  /// Size in bytes, when opened.
  let size: Int

  /// Opens a directory's data file; `nil` if either does not exist.
  ///
  /// - Throws: `.foreignFile` for anything except a regular file, such as a link or a FIFO.
  init?(in directory: Directory?) throws(DataFileError) {
    guard let file = try reading({ () throws(SystemError) in try directory?.open(EnvironmentFiles.dataName) }) else {
      return nil
    }
    size = try reading { () throws(SystemError) in try file.status().size }
    self.file = file
  }

  /// Asks the kernel to read the file ahead if it is small enough.
  borrowing func readAhead() {
    #if os(Linux)
      // Only advice: the result does not matter.
      if size <= 256 << 20 { _ = posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_WILLNEED) }
    #endif
  }

  /// Fills `buffer` from `offset`; `false` if the file ends before.
  borrowing func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DataFileError) -> Bool {
    try reading { () throws(SystemError) in try unsafe file.read(buffer, at: offset) }
  }

  borrowing func read(_ bytes: inout [UInt8], at offset: Int) throws(DataFileError) -> Bool {
    try reading { () throws(SystemError) in try file.read(&bytes, at: offset) }
  }

  /// Reads a meta page by pread(2).
  borrowing func meta(_ number: UInt64, at offset: Int) throws(DataFileError) -> MetaPage {
    var bytes = [UInt8](repeating: 0, count: MetaPage.length)
    try require(
      try read(&bytes, at: offset), number == 0 ? .notDatabase : .truncated, number,
      "the file ends in it, after \(size) bytes")
    return unsafe MetaPage(bytes.span.bytes)
  }
}

func reading<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(DataFileError) -> R {
  do throws(SystemError) { return try body() } catch { throw .unreadable(LMDBError(error)) }
}

/// Throws a finding unless the condition holds.
@inline(__always)
func require(
  _ isSound: Bool, _ kind: DataFileFinding.Kind, _ page: UInt64?, _ detail: @autoclosure () -> String
) throws(DataFileError) {
  if !isSound { throw .finding(DataFileFinding(kind, page: page, detail())) }
}

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

/// What is wrong with a data file, and where.
///
/// Match on ``kind``; ``detail`` is for people.
package struct DataFileFinding: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable {
    /// Neither meta page is one of LMDB.
    case notDatabase
    /// Both meta pages are of another version of LMDB's format.
    case version
    /// LMDB cannot have written this page size here.
    case pageSize
    /// A meta page contradicts itself or the other one.
    case meta
    /// A page in use lies past the end of the file.
    case truncated
    /// A page's own number is not its place, or a reference leads out of the file.
    case pageNumber
    /// A page has the wrong kind for its place in the tree.
    case pageFlags
    /// The free room of a page is out of bounds, or contradicts its entries.
    case bounds
    /// An entry of a page is out of bounds or has an impossible length.
    case node
    /// The keys are not in order, in a page or between pages.
    case keyOrder
    /// The tree is not as deep as recorded.
    case depth
    /// The numbers of pages or entries are not as recorded.
    case statistics
    /// The pages of a large value do not fit it.
    case overflow
    /// A page is used twice, or used and free.
    case doubleUse
    /// Malformed list of free pages.
    case freeList
    /// The database has features that this package never uses, such as several values under one key.
    case unsupported
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
