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
    guard let file = try DataFileSnapshot(of: directory, metaLength: Self.metaLength) else { return nil }
    let (status, meta) = (file.status, file.metaPages)
    words = [
      status.identity.device, status.identity.inode, UInt64(status.size),
      // Both: the first can be set to any time.
      UInt64(bitPattern: status.modified), UInt64(bitPattern: status.changed),
      ContentDigest.word(of: meta.first + meta.second),
    ]
  }
}
