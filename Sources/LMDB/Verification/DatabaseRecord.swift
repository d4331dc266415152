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
