import CXXHash
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
    guard let file = try directory.open(CacheDirectory.dataName) else { return nil }
    let status = try file.status()
    device = status.identity.device
    inode = status.identity.inode
    size = UInt64(status.size)
    // Both: the first can be set to any time.
    modified = [status.modified, status.changed].map { UInt64(bitPattern: $0) }
    var meta = [UInt8](repeating: 0, count: Self.metaLength)
    guard try file.read(&meta) else { return nil }
    // Where the second one lies, the first one says: `mm_psize`.
    let pageSize = meta.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: 40, as: UInt32.self)) }
    metaHash = meta.withUnsafeBytes { cxxhash_64($0.baseAddress, $0.count, 0) }
    guard pageSize >= Self.metaLength, try file.read(&meta, at: pageSize) else { return nil }
    metaHash = meta.withUnsafeBytes { cxxhash_64($0.baseAddress, $0.count, metaHash) }
  }

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
