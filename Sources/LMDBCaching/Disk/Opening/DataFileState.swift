import CXXHash
import LMDB
import Platform

/// Identifies a database file and its last write.
struct DataFileState: Equatable {
  private(set) var device: UInt64 = 0
  private(set) var inode: UInt64 = 0
  private(set) var size: UInt64 = 0
  private(set) var modified: [UInt64] = []
  /// Hashes the start of both meta pages, including the last transaction's number.
  private(set) var metaHash: UInt64 = 0

  static let size = 56
  private static let metaLength = 512

  /// Returns `nil` if there is no database file.
  init?(directory: Directory) throws(SystemError) {
    guard let file = try DataFileSnapshot(of: directory, metaLength: Self.metaLength) else { return nil }
    device = file.status.identity.device
    inode = file.status.identity.inode
    size = UInt64(file.status.size)
    // Both, because the modification time can be set to any value.
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
