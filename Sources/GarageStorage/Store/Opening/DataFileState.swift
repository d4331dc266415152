import LMDB
import Platform

/// What tells that a garage's data file is the one it was, and that nobody wrote to it since.
struct DataFileState: Equatable {
  static let count = 6
  private static let metaLength = 256

  /// Device, inode, size, the times of the last modification and of the last change of the inode in nanoseconds, and a
  /// digest of both meta pages, which hold the number of the last transaction.
  let words: [UInt64]

  init(words: [UInt64]) { self.words = words }

  /// Returns `nil` if there is no file, or one that is too short for a database.
  init?(in directory: Directory) throws(SystemError) {
    guard let file = try directory.open(GarageOpening.dataFile) else { return nil }
    let status = try file.status()
    var meta = [UInt8](repeating: 0, count: Self.metaLength)
    guard try file.read(&meta) else { return nil }
    // Where the second page lies, the first one says: `mm_psize`.
    let pageSize = meta.withUnsafeBytes {
      Int(UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 40, as: UInt32.self)))
    }
    var second = [UInt8](repeating: 0, count: Self.metaLength)
    guard pageSize >= Self.metaLength, try file.read(&second, at: pageSize) else { return nil }
    words = [
      status.identity.device, status.identity.inode, UInt64(status.size),
      // Both: the first can be set to any time.
      UInt64(bitPattern: status.modified), UInt64(bitPattern: status.changed), ContentDigest.word(of: meta + second),
    ]
  }
}
