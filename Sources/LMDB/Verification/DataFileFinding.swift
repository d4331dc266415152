/// What is wrong with a data file, and where.
///
/// Match on ``kind``; ``detail`` is for people.
public struct DataFileFinding: Error, Sendable, Equatable, CustomStringConvertible {
  /// What is wrong. An open set: newer versions may add kinds.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String, Sendable {
      case notDatabase, version, pageSize, meta, truncated, pageNumber, pageFlags, bounds, node, keyOrder, depth
      case statistics, overflow, doubleUse, freeList, unsupported
    }
    private let value: Value

    private init(_ value: Value) { self.value = value }
    public var description: String { value.rawValue }

    /// Neither meta page is one of LMDB.
    public static let notDatabase = Kind(.notDatabase)
    /// Both meta pages are of another version of LMDB's format.
    public static let version = Kind(.version)
    /// The page size is none that LMDB can have written here.
    public static let pageSize = Kind(.pageSize)
    /// A meta page contradicts itself or the other one.
    public static let meta = Kind(.meta)
    /// A page in use lies past the end of the file.
    public static let truncated = Kind(.truncated)
    /// A page's own number is not its place, or a reference leads out of the file.
    public static let pageNumber = Kind(.pageNumber)
    /// A page is not of the kind that its place in the tree asks for.
    public static let pageFlags = Kind(.pageFlags)
    /// The free room of a page is out of bounds, or not what its entries leave.
    public static let bounds = Kind(.bounds)
    /// An entry of a page is out of bounds or has an impossible length.
    public static let node = Kind(.node)
    /// The keys are not in order, in a page or between pages.
    public static let keyOrder = Kind(.keyOrder)
    /// The tree is not as deep as recorded.
    public static let depth = Kind(.depth)
    /// The numbers of pages or entries are not as recorded.
    public static let statistics = Kind(.statistics)
    /// The pages of a large value do not fit it.
    public static let overflow = Kind(.overflow)
    /// A page is used twice, or used and free.
    public static let doubleUse = Kind(.doubleUse)
    /// The list of free pages is not one.
    public static let freeList = Kind(.freeList)
    /// The database has features that this package never uses, such as several values under one key.
    public static let unsupported = Kind(.unsupported)
  }

  public var kind: Kind
  /// The page it was found in; nil: it concerns the file.
  public var page: UInt64?
  public var detail: String

  init(_ kind: Kind, page: UInt64? = nil, _ detail: String) {
    self.kind = kind
    self.page = page
    self.detail = detail
  }

  public var description: String { (page.map { "page \($0): " } ?? "") + "\(detail) [\(kind)]" }
}
