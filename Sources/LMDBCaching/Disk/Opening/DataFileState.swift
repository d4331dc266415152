import CXXHash
import LMDB
import Platform

/// What tells that a database's file is the one it was, and that nobody wrote to it since.
struct DataFileState: Equatable {
  private(set) var device: UInt64 = 0
  private(set) var inode: UInt64 = 0
  private(set) var size: UInt64 = 0
  private(set) var modified: [UInt64] = []
  /// Of the beginnings of both meta pages, the number of the last transaction included.
  private(set) var metaHash: UInt64 = 0

  static let size = 56
  private static let metaLength = 512

  /// Returns `nil` if there is no file, or one that is no database.
  init?(directory: Directory) throws(SystemError) {
    guard let file = try DataFileSnapshot(of: directory, metaLength: Self.metaLength) else { return nil }
    device = file.status.identity.device
    inode = file.status.identity.inode
    size = UInt64(file.status.size)
    // Both: the first can be set to any time.
    modified = [file.status.modified, file.status.changed].map { UInt64(bitPattern: $0) }
    let first = file.metaPages.first.withUnsafeBytes { cxxhash_64($0.baseAddress, $0.count, 0) }
    metaHash = file.metaPages.second.withUnsafeBytes { cxxhash_64($0.baseAddress, $0.count, first) }
  }

  func isSameFile(as other: DataFileState) -> Bool { device == other.device && inode == other.inode }

  init(_ bytes: UnsafeRawBufferPointer) {
    func load(_ index: Int) -> UInt64 {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
    }
    device = load(0)
    inode = load(1)
    size = load(2)
    modified = [load(3), load(4)]
    metaHash = load(5)
  }

  func write(to bytes: UnsafeMutableRawBufferPointer) {
    for (index, word) in ([device, inode, size] + modified + [metaHash]).enumerated() {
      bytes.storeBytes(of: word.littleEndian, toByteOffset: 8 * index, as: UInt64.self)
    }
  }
}
