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
